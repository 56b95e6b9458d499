/* Launches: checked against the device's limits, recorded, and passed to a callback if there is one. */
#include "driver.h"

struct attribute { int id; char pad[4]; unsigned char value[64]; };
struct config { unsigned grid[3], block[3], shared; void *stream; struct attribute *attributes; unsigned count; };

static void say_launch(const struct config *config, const struct kernel *kernel, void **parameters, int device) {
  say("{\"call\": \"cuLaunchKernelEx\", \"entry\": \"%s\", \"library\": %lu, \"context\": %d, \"thread\": %lu, ", kernel->name,
      (uintptr_t)kernel->library, device, (unsigned long)pthread_self());
  say("\"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"shared\": %u, \"stream\": %lu, \"attributes\": [", config->grid[0],
      config->grid[1], config->grid[2], config->block[0], config->block[1], config->block[2], config->shared,
      (uintptr_t)config->stream);
  for (unsigned i = 0; i < config->count; ++i) {
    say("%s[%d, ", i ? ", " : "", config->attributes[i].id);
    say_bytes(config->attributes[i].value, 64);
    append("]", 1);
  }
  say("], \"parameters\": [");
  for (size_t i = 0; i < kernel->count; ++i) {
    if (i) append(", ", 2);
    say_bytes(parameters[i], kernel->sizes[i]);
  }
  say("], \"alignments\": [");
  for (size_t i = 0; i < kernel->count; ++i)
    say("%s%lu", i ? ", " : "", (uintptr_t)parameters[i] & -(uintptr_t)parameters[i]);
  say("]}");
}

launch_answer on_launch;
static long launches;

OURS void null_driver_on_launch(launch_answer answer) { on_launch = answer; }
OURS long null_driver_launches(void) { return __atomic_load_n(&launches, __ATOMIC_RELAXED); }

/* Limits ------------------------------------------------------------------------------------------------------------- */

enum { /* CUlaunchAttributeID, CUfunction_attribute */
  COOPERATIVE = 2, CLUSTER = 4, LAST_ATTRIBUTE = 18, DYNAMIC_SHARED = 8, NON_PORTABLE_CLUSTER = 14,
};
enum { /* of an SM of compute capability 9.0 */
  RESIDENT_THREADS = 2048, RESIDENT_BLOCKS = 32, SHARED_BYTES = 233472, SHARED_OF_BLOCK = 1024, PORTABLE = 8, LARGEST = 16,
};

static unsigned long volume(const unsigned extents[3]) { return 1ul * extents[0] * extents[1] * extents[2]; }

static unsigned long resident_blocks(const struct kernel *kernel, unsigned long threads, size_t shared) {
  unsigned long by_threads = RESIDENT_THREADS / ((threads + 31) / 32 * 32);
  unsigned long by_shared = SHARED_BYTES / (shared + (size_t)kernel->shared + SHARED_OF_BLOCK);
  unsigned long least = by_threads < by_shared ? by_threads : by_shared;
  return least < RESIDENT_BLOCKS ? least : RESIDENT_BLOCKS;
}

static const unsigned *find(const struct config *config, int id) {
  for (unsigned i = 0; i < config->count; ++i)
    if (config->attributes[i].id == id) return (const unsigned *)config->attributes[i].value;
  return NULL;
}

static CUresult check_cluster(const struct config *config, const struct kernel *kernel, const unsigned *cluster) {
  unsigned long size = volume(cluster);
  if (size == 0 || size > LARGEST) return INVALID_CLUSTER_SIZE;
  if (size > PORTABLE && !kernel->attributes[NON_PORTABLE_CLUSTER]) return INVALID_CLUSTER_SIZE;
  for (int i = 0; i < 3; ++i)
    if (config->grid[i] % cluster[i]) return INVALID_VALUE;
  return SUCCESS;
}

/* The device's own limit of threads is not checked: plans check it before they launch. */
static inline CUresult check(const struct config *config, const struct kernel *kernel) {
  unsigned long threads = volume(config->block), most = (unsigned long)kernel->threads;
  return volume(config->grid) == 0 || threads == 0 || (most && threads > most) ? INVALID_VALUE : SUCCESS;
}

static CUresult check_attributes(const struct config *config, const struct kernel *kernel, const struct context *context) {
  for (unsigned i = 0; i < config->count; ++i)
    if (config->attributes[i].id > LAST_ATTRIBUTE) return INVALID_VALUE;
  const unsigned *cluster = find(config, CLUSTER), *cooperative = find(config, COOPERATIVE);
  if (cluster) PASS_ON(check_cluster(config, kernel, cluster));
  if (!cooperative || !*cooperative) return SUCCESS;
  unsigned long resident = context->multiprocessors * resident_blocks(kernel, volume(config->block), config->shared);
  return volume(config->grid) > resident ? COOPERATIVE_TOO_LARGE : SUCCESS;
}

/* Reserve a kernel's local memory for every thread that can be resident. */
static CUresult give_local(const struct kernel *kernel, struct context *context) {
  return kernel->local ? set_aside(context, (size_t)kernel->local * RESIDENT_THREADS * context->multiprocessors) : SUCCESS;
}

/* Launching ---------------------------------------------------------------------------------------------------------- */

static struct launch packed(const struct config *config, struct kernel *kernel, void **parameters, unsigned char *bank) {
  struct launch launch = {.kernel = kernel, .cluster = {1, 1, 1}, .shared = config->shared, .parameters = bank};
  const unsigned *cluster = find(config, CLUSTER);
  memcpy(launch.grid, config->grid, sizeof launch.grid);
  memcpy(launch.block, config->block, sizeof launch.block);
  if (cluster) memcpy(launch.cluster, cluster, sizeof launch.cluster);
  for (size_t i = 0; i < kernel->count; ++i) memcpy(bank + kernel->offsets[i], parameters[i], kernel->sizes[i]);
  if (kernel->count) launch.bytes = kernel->offsets[kernel->count - 1] + kernel->sizes[kernel->count - 1];
  return launch;
}

CUresult run_launch(const struct launch *launch, struct context *context) {
  const struct kernel *kernel = launch->kernel;
  if (!on_launch) return SUCCESS;
  if (kernel->library->unloaded) return LAUNCH_FAILED; /* its code is gone */
  struct request request = {
      .entry = kernel->name, .image = kernel->library->image, .image_bytes = kernel->library->bytes, .shared = launch->shared,
      .device = context->device, .parameters = launch->parameters, .parameter_bytes = launch->bytes,
      .library = (uintptr_t)kernel->library, .context = context,
  };
  memcpy(request.grid, launch->grid, sizeof request.grid);
  memcpy(request.block, launch->block, sizeof request.block);
  memcpy(request.cluster, launch->cluster, sizeof request.cluster);
  return on_launch(&request);
}

/* Find the stream and the context of a launch. A function needs a stream of its own context; a kernel runs in the context
 * of its stream, for the default stream in the current context. */
static CUresult placed(void *handle, struct context *bound, struct stream **stream, struct context **context) {
  PASS_ON(find_stream(handle, stream));
  *context = *stream ? (*stream)->context : current;
  return bound && *stream && bound != *context ? INVALID_HANDLE : usable(*context);
}

/* Not inline: a launch that is only recorded must not pay for the stack frame. */
__attribute__((noinline)) static CUresult hand_on(const struct config *config, struct kernel *kernel, void **parameters,
                                                  struct stream *stream, struct context *context) {
  unsigned char bank[32768];
  PASS_ON(give_local(kernel, context));
  return enqueue(stream, &(struct work){.kind = LAUNCH, .launch = packed(config, kernel, parameters, bank)});
}

API cuLaunchKernelEx(const struct config *config, void *handle, void **parameters, void **extra) {
  MAY_FAIL();
  struct context *bound, *context = current;
  struct stream *stream = NULL;
  if (extra || !context) return context ? INVALID_VALUE : INVALID_CONTEXT;
  struct kernel *kernel = kernel_of(handle, &bound);
  if (!kernel) return INVALID_HANDLE;
  /* Without a callback and without streams, the handle may be any number. */
  if (on_launch || streams_live) PASS_ON(placed(config->stream, bound, &stream, &context));
  COUNT(launches, 1);
  if (config->shared > 49152 && (int)config->shared > kernel->attributes[DYNAMIC_SHARED]) return INVALID_VALUE;
  PASS_ON(check(config, kernel));
  if (config->count) PASS_ON(check_attributes(config, kernel, context));
  if (stream || on_launch) PASS_ON(hand_on(config, kernel, parameters, stream, context));
  RECORD(say_launch(config, kernel, parameters, context->device));
  return SUCCESS;
}

API cuLaunchKernel(void *handle, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y,
                   unsigned threads_z, unsigned shared, void *stream, void **parameters, void **extra) {
  struct config config = {{x, y, z}, {threads_x, threads_y, threads_z}, shared, stream, NULL, 0};
  return cuLaunchKernelEx(&config, handle, parameters, extra);
}

API cuLaunchCooperativeKernel(void *handle, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y,
                              unsigned threads_z, unsigned shared, void *stream, void **parameters) {
  struct attribute cooperative = {COOPERATIVE, "", {1}};
  struct config config = {{x, y, z}, {threads_x, threads_y, threads_z}, shared, stream, &cooperative, 1};
  return cuLaunchKernelEx(&config, handle, parameters, NULL);
}

/* Occupancy ---------------------------------------------------------------------------------------------------------- */

API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *handle, int threads, size_t shared) {
  struct context *bound;
  const struct kernel *kernel = kernel_of(handle, &bound);
  if (!kernel || threads <= 0) return kernel ? INVALID_VALUE : INVALID_HANDLE;
  return *blocks = (int)resident_blocks(kernel, (unsigned long)threads, shared), SUCCESS;
}

API cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *handle, int threads, size_t shared, unsigned flags) {
  return (void)flags, cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, handle, threads, shared);
}

API cuOccupancyMaxActiveClusters(int *clusters, void *handle, const struct config *config) {
  struct context *bound;
  const struct kernel *kernel = kernel_of(handle, &bound);
  const unsigned *cluster = find(config, CLUSTER);
  if (!kernel || !cluster) return kernel ? INVALID_VALUE : INVALID_HANDLE;
  PASS_ON(check_cluster(config, kernel, cluster));
  unsigned long blocks = resident_blocks(kernel, volume(config->block), config->shared) * (unsigned long)setting("multiprocessors");
  return *clusters = (int)(blocks / volume(cluster)), SUCCESS;
}
