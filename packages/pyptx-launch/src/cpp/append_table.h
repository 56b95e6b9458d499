// A hash table of immutable entries that is read without locks: entries are added, never changed or taken out.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace pyptx {

// Readers walk whatever array of slots was published last; a writer fills a free slot, or publishes an array twice as
// long with the same entries. Arrays that were replaced live on, together shorter than the last, so that a reader
// may still be inside one.
template <typename Entry>
class AppendTable {
 public:
  AppendTable() { grow(16); }

  // Return the entry of this hash that `matches` accepts, or null.
  template <typename Matches>
  const Entry* find(std::uint64_t hash, Matches matches) const {
    const Slots& slots = *published_.load(std::memory_order_acquire);
    for (std::uint64_t at = hash;; ++at) {
      const Entry* entry = slots.at(at).load(std::memory_order_acquire);
      if (entry == nullptr || (entry->hash == hash && matches(*entry))) return entry;
    }
  }

  // Add what `make` returns, unless an entry matches; return whichever stands in the table.
  template <typename Matches, typename Make>
  const Entry* add(std::uint64_t hash, Matches matches, Make make) {
    std::lock_guard lock(writing_);
    if (const Entry* found = find(hash, matches)) return found;
    entries_.push_back(make());
    if (2 * entries_.size() > arrays_.back()->size()) {
      grow(2 * arrays_.back()->size());
    } else {
      arrays_.back()->put(entries_.back().get());
    }
    return entries_.back().get();
  }

  std::size_t size() const {
    std::lock_guard lock(writing_);
    return entries_.size();
  }

 private:
  class Slots {
   public:
    explicit Slots(std::size_t size) : slots_(size) {}  // a power of two

    std::size_t size() const { return slots_.size(); }
    const std::atomic<const Entry*>& at(std::uint64_t at) const { return slots_[at & (slots_.size() - 1)]; }

    void put(const Entry* entry) {
      std::uint64_t at = entry->hash;
      while (slots_[at & (slots_.size() - 1)].load(std::memory_order_relaxed) != nullptr) ++at;
      slots_[at & (slots_.size() - 1)].store(entry, std::memory_order_release);
    }

   private:
    std::vector<std::atomic<const Entry*>> slots_;
  };

  void grow(std::size_t size) {
    auto slots = std::make_unique<Slots>(size);
    for (const auto& entry : entries_) slots->put(entry.get());
    published_.store(slots.get(), std::memory_order_release);
    arrays_.push_back(std::move(slots));
  }

  mutable std::mutex writing_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<std::unique_ptr<Slots>> arrays_;
  std::atomic<const Slots*> published_{nullptr};
};

// Mix one more value into a hash.
inline std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio
  return hash ^ (hash >> 32);
}

}  // namespace pyptx
