// A hash table of immutable entries that is read without locks: entries are added, never changed or taken out.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace pyptx {

// An entry has `hash` and `next`. Chains grow at their head, so a reader may be anywhere in one.
template <typename Entry, std::size_t kChains = 256>
class AppendTable {
 public:
  ~AppendTable() {
    for (auto& chain : chains_)
      for (Entry *entry = chain, *next; entry != nullptr; entry = next) next = entry->next, delete entry;
  }

  // Return the entry of this hash that `matches` accepts, or null.
  template <typename Matches>
  const Entry* find(std::uint64_t hash, Matches matches) const {
    const Entry* entry = chains_[hash % kChains].load(std::memory_order_acquire);
    while (entry != nullptr && !(entry->hash == hash && matches(*entry))) entry = entry->next;
    return entry;
  }

  // Add what `make` returns, unless an entry matches; return whichever stands in the table.
  template <typename Matches, typename Make>
  const Entry* add(std::uint64_t hash, Matches matches, Make make) {
    std::lock_guard lock(writing_);
    if (const Entry* found = find(hash, matches)) return found;
    std::unique_ptr<Entry> made = make();
    made->next = chains_[hash % kChains];
    chains_[hash % kChains].store(made.get(), std::memory_order_release);
    return made.release();
  }

 private:
  std::mutex writing_;
  std::array<std::atomic<Entry*>, kChains> chains_{};
};

template <typename Word>
std::uint64_t hash_of(const Word* words, std::size_t count) {
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < count; ++i) {
    hash = (hash ^ static_cast<std::uint64_t>(words[i])) * 0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace pyptx
