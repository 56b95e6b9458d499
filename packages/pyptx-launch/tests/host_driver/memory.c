/* Memory: all device memory is one host mapping, without cost until it is written. Allocations are tracked, and a copy or
 * a kernel that accesses bytes outside of them fails. */
#include "driver.h"

#include <sys/mman.h>

enum { DEVICE, PINNED, MANAGED, REGISTERED };

struct allocation { /* `context`: for device memory, the context whose kernels can access it; NULL for other memory */
  uint64_t start;
  size_t bytes;
  int device, kind;
  const struct context *context;
};

enum { ALIGNMENT = 512, GAP = 512, MOST_FILLED = 1 << 20 };

static const size_t region_bytes = (size_t)512 << 30;
static const size_t reserved = (size_t)64 << 20; /* at the region's start, for the launch callback */
static unsigned char *region;
static struct allocation *allocations; /* by address */
static size_t count, room;
static size_t used[MOST_DEVICES];
static unsigned long version; /* of `allocations` */

/* Map device memory, at address `wish` unless it is 0; otherwise the first allocation maps it. */
OURS int null_driver_map(uint64_t wish) {
  pthread_mutex_lock(&state);
  if (!region) {
    int fixed = wish ? MAP_FIXED_NOREPLACE : 0;
    void *mapped = mmap((void *)wish, region_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
    region = mapped == MAP_FAILED ? NULL : mapped;
  }
  pthread_mutex_unlock(&state);
  return region && (!wish || region == (void *)wish);
}

/* Green contexts share the memory of the primary context; created contexts have their own. */
static const struct context *owner(const struct context *context) {
  return context->kind == CREATED ? context : primary(context->device);
}

/* Write starts and sizes of up to `most` allocations that kernels of a context can access; return the number of all. */
OURS size_t null_driver_allocations(uint64_t *pairs, size_t most, const struct context *context) {
  size_t found = 0;
  context = owner(context);
  pthread_mutex_lock(&state);
  for (size_t i = 0; i < count; ++i) {
    if (allocations[i].context && allocations[i].context != context) continue;
    if (found < most) pairs[2 * found] = allocations[i].start, pairs[2 * found + 1] = allocations[i].bytes;
    ++found;
  }
  pthread_mutex_unlock(&state);
  return found;
}

OURS unsigned long null_driver_allocations_version(void) { return version; }

/* Return the index of the first allocation after an address. */
static size_t behind(uint64_t address) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (allocations[middle].start <= address) low = middle + 1;
    else high = middle;
  }
  return low;
}

static struct allocation *holding(uint64_t address, size_t bytes) {
  size_t index = behind(address);
  struct allocation *found = index ? &allocations[index - 1] : NULL;
  return found && address + bytes <= found->start + found->bytes ? found : NULL;
}

static int allocated(uint64_t address, size_t bytes) {
  pthread_mutex_lock(&state);
  int found = holding(address, bytes) != NULL;
  pthread_mutex_unlock(&state);
  return found;
}

static size_t rounded(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* Return the address of the first gap of the region with room for `bytes`; 0 if none. */
static uint64_t gap(size_t bytes) {
  uint64_t at = (uint64_t)region + reserved;
  for (size_t i = 0; i < count; ++i) {
    const struct allocation *next = &allocations[i];
    if (next->kind == REGISTERED) continue; /* not in the region */
    if (at + rounded(bytes) + GAP <= next->start) return at;
    at = next->start + rounded(next->bytes) + GAP;
  }
  return at + rounded(bytes) <= (uint64_t)region + region_bytes ? at : 0;
}

/* Insert an allocation in address order; the caller holds `state`. */
static void insert(struct allocation allocation) {
  size_t index = behind(allocation.start);
  if (count == room) allocations = realloc(allocations, (room = 2 * room + 64) * sizeof *allocations);
  memmove(&allocations[index + 1], &allocations[index], (count - index) * sizeof *allocations);
  allocations[index] = allocation;
  ++count, ++version;
}

static CUresult place(uint64_t *address, size_t bytes, const struct context *context, int kind) {
  int device = context->device;
  if (bytes == 0) return INVALID_VALUE;
  if (kind != PINNED && used[device] + rounded(bytes) > (size_t)setting("memory")) return OUT_OF_MEMORY;
  *address = gap(bytes);
  if (!*address) return OUT_OF_MEMORY;
  insert((struct allocation){*address, bytes, device, kind, kind == DEVICE ? owner(context) : NULL});
  if (kind != PINNED) used[device] += rounded(bytes);
  return SUCCESS;
}

static CUresult allocate(uint64_t *address, size_t bytes, int kind) {
  PASS_ON(usable(current));
  if (!null_driver_map(0)) return OUT_OF_MEMORY;
  pthread_mutex_lock(&state);
  CUresult result = place(address, bytes, current, kind);
  pthread_mutex_unlock(&state);
  if (result != SUCCESS) return result;
  memset((void *)*address, 0xA5, bytes < MOST_FILLED ? bytes : MOST_FILLED); /* uninitialized */
  return COUNT(memory_live, 1), SUCCESS;
}

/* Remove an allocation; return its pages to the system if it is large. */
void forget_memory(uint64_t address) {
  pthread_mutex_lock(&state);
  struct allocation *found = holding(address, 1);
  if (found && found->start == address) {
    if (found->bytes > MOST_FILLED && found->kind != REGISTERED) madvise((void *)address, rounded(found->bytes) / 4096 * 4096, MADV_DONTNEED);
    if (found->kind == DEVICE || found->kind == MANAGED) used[found->device] -= rounded(found->bytes);
    size_t index = (size_t)(found - allocations);
    memmove(found, found + 1, (--count - index) * sizeof *found);
    ++version;
    COUNT(memory_live, -1);
  }
  pthread_mutex_unlock(&state);
}

static int begins_one(uint64_t address) {
  pthread_mutex_lock(&state);
  struct allocation *found = holding(address, 1);
  int begins = found && found->start == address;
  pthread_mutex_unlock(&state);
  return begins;
}

/* Reserve device memory for the local memory of a context's kernels, for the lifetime of the context. */
CUresult set_aside(struct context *context, size_t bytes) {
  CUresult result = SUCCESS;
  pthread_mutex_lock(&state);
  if (bytes > context->local) {
    size_t more = bytes - context->local;
    if (used[context->device] + more > (size_t)setting("memory")) result = OUT_OF_MEMORY;
    else used[context->device] += more, context->local = bytes;
  }
  pthread_mutex_unlock(&state);
  return result;
}

/* Allocation --------------------------------------------------------------------------------------------------------- */

API cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  MAY_FAIL();
  PASS_ON(allowed_in_capture());
  PASS_ON(allocate(address, bytes, DEVICE));
  RECORD(say("{\"call\": \"cuMemAlloc\", \"address\": %lu, \"bytes\": %zu, \"context\": %ld, \"capture_mode\": %d}",
             *address, bytes, current_device(), capture_mode));
  return SUCCESS;
}

/* Waits for the device, like the driver: earlier launches may use the memory. */
API cuMemFree_v2(uint64_t address) {
  MAY_FAIL();
  if (!address) return SUCCESS;
  PASS_ON(usable(current));
  PASS_ON(allowed_in_capture());
  if (!begins_one(address)) return INVALID_VALUE;
  PASS_ON(wait_for_context(current));
  RECORD(say("{\"call\": \"cuMemFree\", \"address\": %lu, \"context\": %ld, \"capture_mode\": %d}", address, current_device(),
             capture_mode));
  return forget_memory(address), SUCCESS;
}

API cuMemAllocAsync(uint64_t *address, size_t bytes, void *handle) {
  MAY_FAIL();
  struct stream *stream;
  PASS_ON(find_stream(handle, &stream));
  if (capturing(stream)) return NOT_SUPPORTED; /* memory nodes of graphs: not needed by any test */
  PASS_ON(allocate(address, bytes, DEVICE));
  RECORD(say("{\"call\": \"cuMemAllocAsync\", \"address\": %lu, \"bytes\": %zu, \"stream\": %lu}", *address, bytes, (uintptr_t)handle));
  return SUCCESS;
}

API cuMemFreeAsync(uint64_t address, void *handle) {
  MAY_FAIL();
  struct stream *stream;
  PASS_ON(find_stream(handle, &stream));
  if (capturing(stream)) return NOT_SUPPORTED;
  if (!begins_one(address)) return INVALID_VALUE;
  RECORD(say("{\"call\": \"cuMemFreeAsync\", \"address\": %lu, \"stream\": %lu}", address, (uintptr_t)handle));
  return enqueue(stream, &(struct work){.kind = FREE, .to = address});
}

API cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
  MAY_FAIL();
  (void)flags;
  PASS_ON(allowed_in_capture());
  return allocate((uint64_t *)memory, bytes, PINNED);
}

API cuMemAllocHost_v2(void **memory, size_t bytes) { return cuMemHostAlloc(memory, bytes, 0); }

API cuMemHostGetDevicePointer_v2(uint64_t *address, void *memory, unsigned flags) {
  return *address = (uintptr_t)memory, flags || !allocated(*address, 1) ? INVALID_VALUE : SUCCESS;
}

API cuMemFreeHost(void *memory) { return cuMemFree_v2((uintptr_t)memory); }

/* Registered host memory; kernels access it at its own address. */
API cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags) {
  MAY_FAIL();
  (void)flags;
  PASS_ON(usable(current));
  if (!memory || bytes == 0) return INVALID_VALUE;
  pthread_mutex_lock(&state);
  insert((struct allocation){(uintptr_t)memory, bytes, current->device, REGISTERED, NULL});
  pthread_mutex_unlock(&state);
  return COUNT(memory_live, 1), SUCCESS;
}

API cuMemHostUnregister(void *memory) {
  MAY_FAIL();
  PASS_ON(usable(current));
  if (!begins_one((uintptr_t)memory)) return INVALID_VALUE;
  PASS_ON(wait_for_context(current));
  return forget_memory((uintptr_t)memory), SUCCESS;
}

API cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned flags) {
  MAY_FAIL();
  (void)flags;
  PASS_ON(allowed_in_capture());
  return allocate(address, bytes, MANAGED);
}

API cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
  MAY_FAIL();
  PASS_ON(usable(current));
  *total = (size_t)setting("memory");
  return *free_bytes = *total - used[current->device], SUCCESS;
}

API cuMemGetAddressRange_v2(uint64_t *start, size_t *bytes, uint64_t address) {
  pthread_mutex_lock(&state);
  const struct allocation *found = holding(address, 1);
  if (found && start) *start = found->start;
  if (found && bytes) *bytes = found->bytes;
  pthread_mutex_unlock(&state);
  return found ? SUCCESS : NOT_FOUND;
}

/* CUpointer_attribute: memory type (1 host, 2 device), device and host pointer, managed, ordinal, start, size. */
API cuPointerGetAttribute(void *value, int attribute, uint64_t address) {
  MAY_FAIL();
  pthread_mutex_lock(&state);
  const struct allocation *known = holding(address, 1);
  struct allocation found = known ? *known : (struct allocation){0};
  pthread_mutex_unlock(&state);
  if (!known) return INVALID_VALUE;
  switch (attribute) {
    case 2: *(unsigned *)value = found.kind == PINNED || found.kind == REGISTERED ? 1 : 2; return SUCCESS;
    case 3: case 4: *(uint64_t *)value = address; return SUCCESS;
    case 7: *(uint64_t *)value = found.start; return SUCCESS;
    case 8: *(unsigned *)value = found.kind == MANAGED; return SUCCESS;
    case 9: *(int *)value = found.device; return SUCCESS;
    case 11: *(uint64_t *)value = found.start; return SUCCESS;
    case 12: *(size_t *)value = found.bytes; return SUCCESS;
    default: return INVALID_VALUE;
  }
}

/* Copies and fills --------------------------------------------------------------------------------------------------- */

CUresult run_copy(uint64_t to, uint64_t from, size_t bytes, int way) {
  if (way & TO_DEVICE && !allocated(to, bytes)) return ILLEGAL_ADDRESS;
  if (way & TO_HOST && !allocated(from, bytes)) return ILLEGAL_ADDRESS;
  memmove((void *)to, (const void *)from, bytes);
  return SUCCESS;
}

CUresult run_set(uint64_t to, uint32_t value, int width, size_t pitch, size_t columns, size_t rows) {
  for (size_t row = 0; row < rows; ++row) {
    uint64_t at = to + row * pitch;
    if (!allocated(at, columns * (size_t)width)) return ILLEGAL_ADDRESS;
    if (width == 1) memset((void *)at, (int)value, columns);
    else for (size_t i = 0; i < columns; ++i) memcpy((void *)(at + i * (size_t)width), &value, (size_t)width);
  }
  return SUCCESS;
}

/* Copy; `wait` is for the calls without `Async`, which use the default stream. For pageable memory, the driver reads the
 * source at once, or waits until the destination is written. */
static CUresult copy(uint64_t to, uint64_t from, size_t bytes, int way, void *handle, int wait) {
  struct stream *stream;
  PASS_ON(find_stream(handle, &stream));
  if (wait) PASS_ON(allowed_in_capture());
  if (bytes == 0) return SUCCESS;
  if (way & TO_DEVICE && !allocated(to, bytes)) return INVALID_VALUE;
  if (way & TO_HOST && !allocated(from, bytes)) return INVALID_VALUE;
  struct work work = {.kind = COPY, .to = to, .from = from, .bytes = bytes, .way = way};
  if (way == TO_DEVICE && !capturing(stream) && !allocated(from, bytes)) {
    work.staged = malloc(bytes);
    memcpy(work.staged, (const void *)from, bytes);
  }
  PASS_ON(enqueue(stream, &work));
  int pageable = way == TO_HOST && !capturing(stream) && !allocated(to, bytes);
  return stream && (wait || pageable) ? wait_for(stream, UINT64_MAX) : SUCCESS;
}

API cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
  MAY_FAIL();
  PASS_ON(usable(current));
  return copy(to, (uintptr_t)from, bytes, TO_DEVICE, NULL, 1);
}

API cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
  MAY_FAIL();
  PASS_ON(usable(current));
  return copy((uintptr_t)to, from, bytes, TO_HOST, NULL, 1);
}

API cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes) {
  MAY_FAIL();
  PASS_ON(usable(current));
  return copy(to, from, bytes, ON_DEVICE, NULL, 1);
}

API cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
  MAY_FAIL();
  PASS_ON(copy(to, (uintptr_t)from, bytes, TO_DEVICE, stream, 0));
  RECORD(say("{\"call\": \"cuMemcpyHtoDAsync\", \"address\": %lu, \"capture_mode\": %d, \"stream\": %lu, \"bytes\": ", to,
             capture_mode, (uintptr_t)stream),
         say_bytes(from, bytes), append("}", 1));
  return SUCCESS;
}

API cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
  MAY_FAIL();
  return copy((uintptr_t)to, from, bytes, TO_HOST, stream, 0);
}

API cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream) {
  MAY_FAIL();
  return copy(to, from, bytes, ON_DEVICE, stream, 0);
}

static int way_of(uint64_t to, uint64_t from, size_t bytes) {
  return (allocated(to, bytes) ? TO_DEVICE : 0) | (allocated(from, bytes) ? TO_HOST : 0);
}

API cuMemcpy(uint64_t to, uint64_t from, size_t bytes) {
  MAY_FAIL();
  PASS_ON(usable(current));
  int way = way_of(to, from, bytes);
  return way ? copy(to, from, bytes, way, NULL, 1) : INVALID_VALUE;
}

API cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, void *stream) {
  MAY_FAIL();
  int way = way_of(to, from, bytes);
  return way ? copy(to, from, bytes, way, stream, 0) : INVALID_VALUE;
}

static CUresult set(struct work work, void *handle, int wait) {
  struct stream *stream;
  PASS_ON(find_stream(handle, &stream));
  if (wait) PASS_ON(allowed_in_capture());
  if (work.to % (uint64_t)work.width) return INVALID_VALUE;
  for (size_t row = 0; row < work.rows; ++row)
    if (!allocated(work.to + row * work.pitch, work.bytes * (size_t)work.width)) return INVALID_VALUE;
  work.kind = SET;
  PASS_ON(enqueue(stream, &work));
  return stream && wait ? wait_for(stream, UINT64_MAX) : SUCCESS;
}

#define SETTING(suffix, type, size)                                                                                  \
  API cuMemset##suffix##_v2(uint64_t to, type value, size_t many) {                                                  \
    MAY_FAIL();                                                                                                      \
    PASS_ON(usable(current));                                                                                        \
    return set((struct work){.to = to, .value = value, .width = size, .bytes = many, .rows = 1}, NULL, 1);           \
  }                                                                                                                  \
  API cuMemset##suffix##Async(uint64_t to, type value, size_t many, void *stream) {                                  \
    MAY_FAIL();                                                                                                      \
    return set((struct work){.to = to, .value = value, .width = size, .bytes = many, .rows = 1}, stream, 0);         \
  }

SETTING(D8, unsigned char, 1)
SETTING(D16, unsigned short, 2)
SETTING(D32, unsigned, 4)

/* Pools: one per device, for all allocations ------------------------------------------------------------------------- */

static struct { uint64_t threshold; } pools[MOST_DEVICES];

API cuDeviceGetDefaultMemPool(void **pool, int device) {
  return device < 0 || device >= setting("devices") ? INVALID_DEVICE : (*pool = &pools[device], SUCCESS);
}

API cuDeviceGetMemPool(void **pool, int device) { return cuDeviceGetDefaultMemPool(pool, device); }

/* CUmemPool_attribute: 4 is the release threshold; 5 to 8 are reserved and used bytes, current and maximum. */
API cuMemPoolGetAttribute(void *pool, int attribute, void *value) {
  size_t device = (size_t)((char *)pool - (char *)pools) / sizeof *pools;
  if (attribute >= 1 && attribute <= 3) return *(int *)value = 1, SUCCESS;
  return *(uint64_t *)value = attribute == 4 ? pools[device].threshold : used[device], SUCCESS;
}

API cuMemPoolSetAttribute(void *pool, int attribute, const void *value) {
  if (attribute == 4) memcpy(pool, value, sizeof(uint64_t));
  return SUCCESS;
}

API cuMemAllocFromPoolAsync(uint64_t *address, size_t bytes, void *pool, void *stream) {
  (void)pool;
  return cuMemAllocAsync(address, bytes, stream);
}
