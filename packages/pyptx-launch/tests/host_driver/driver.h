/* What the files of the host driver share. Exported are the driver's functions (API) and those of null_driver.py (OURS);
 * structures of arguments are the driver's ABI, declared from its documentation. */
#pragma once
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
#define OURS __attribute__((visibility("default")))
#define API OURS CUresult

enum {
  SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_DEVICE = 101, INVALID_IMAGE = 200, INVALID_CONTEXT = 201,
  NO_BINARY_FOR_GPU = 209, INVALID_PTX = 218, INVALID_RESOURCE_CONFIGURATION = 915, INVALID_HANDLE = 400,
  ILLEGAL_STATE = 401, NOT_FOUND = 500, NOT_READY = 600, ILLEGAL_ADDRESS = 700, LAUNCH_FAILED = 719,
  CONTEXT_IS_DESTROYED = 709, COOPERATIVE_TOO_LARGE = 720, NOT_SUPPORTED = 801, CAPTURE_UNSUPPORTED = 900,
  CAPTURE_INVALIDATED = 901, CAPTURE_UNMATCHED = 903, CAPTURE_UNJOINED = 904, CAPTURE_ISOLATION = 905,
  CAPTURE_IMPLICIT = 906, CAPTURED_EVENT = 907, CAPTURE_WRONG_THREAD = 908, INVALID_CLUSTER_SIZE = 912,
};

#pragma GCC visibility push(hidden) /* what is declared here is reached without the linker's tables */

/* record.c: settings, the record of calls, failures on request --------------------------------------------------- */

long setting(const char *name);

extern pthread_mutex_t recorded; /* held while a line is written */
extern int recording, any_failing;
extern size_t length;
void append(const char *piece, size_t size);
void say(const char *format, ...);
void say_bytes(const void *bytes, size_t size);
void to_file(size_t from);
CUresult demanded(const char *call);

#define RECORD(...)                   \
  do {                                \
    if (!recording) break;            \
    pthread_mutex_lock(&recorded);    \
    size_t from_ = length;            \
    __VA_ARGS__;                      \
    append("\n", 1);                  \
    to_file(from_);                   \
    pthread_mutex_unlock(&recorded);  \
  } while (0)

#define MAY_FAIL()                                   \
  do {                                               \
    CUresult demanded_ = SUCCESS;                    \
    if (any_failing) demanded_ = demanded(__func__); \
    if (demanded_ != SUCCESS) return demanded_;      \
  } while (0)

#define PASS_ON(call)                           \
  do {                                          \
    CUresult result_ = (call);                  \
    if (result_ != SUCCESS) return result_;     \
  } while (0)

extern long memory_live, libraries_live, streams_live, events_live;
#define COUNT(what, by) __atomic_add_fetch(&(what), by, __ATOMIC_RELAXED)

/* contexts.c --------------------------------------------------------------------------------------------------------- */

#define MOST_DEVICES 64

enum { PRIMARY, CREATED, GREEN };

struct context {
  int kind, device, alive;
  unsigned flags, multiprocessors;
  CUresult lost;         /* what a kernel of it has done: every later call answers with that */
  size_t local;          /* bytes of device memory that are set aside for its kernels' local memory */
  struct stream *legacy; /* its default stream */
  char green;            /* whose address is the handle of a green context */
};

extern __thread struct context *current;
extern __thread int capture_mode;
struct context *primary(int device);
long current_device(void); /* -1: none is current */
CUresult usable(const struct context *context);

/* The state of contexts, streams, events, graphs and memory is changed under this; nothing waits while it is held. */
extern pthread_mutex_t state;

/* code.c ------------------------------------------------------------------------------------------------------------- */

#define MOST_PARAMETERS 512
#define ATTRIBUTES 16

enum { KERNEL = 0x4b45524e, FUNCTION = 0x46554e43 }; /* what a handle is begins with which */

struct kernel {
  int tag;
  struct kernel *next;
  struct library *library;
  char *name;
  size_t count, offsets[MOST_PARAMETERS], sizes[MOST_PARAMETERS];
  int attributes[ATTRIBUTES];
  long threads, shared, local; /* what its text says: the most threads of a block (0: nothing), and bytes */
  struct function *functions;
};

struct function { /* a kernel in a context */
  int tag;
  struct function *next;
  struct kernel *kernel;
  struct context *context;
};

struct library {
  size_t bytes;
  uint64_t hash;
  char *image;
  int target;  /* of a cubin: 90 of sm_90; 0 of PTX */
  int waiting; /* launches that have not run */
  int unloaded;
  struct kernel *kernels;
};

/* A CUkernel may stand where a CUfunction is asked for; `bound` is a function's context, or NULL. */
static inline struct kernel *kernel_of(void *handle, struct context **bound) {
  struct function *function = handle;
  *bound = NULL;
  if (!function) return NULL;
  if (function->tag != FUNCTION) return function->tag == KERNEL ? handle : NULL;
  *bound = function->context;
  return function->kernel;
}

void release_library(struct library *library);

/* launch.c ----------------------------------------------------------------------------------------------------------- */

/* What a callback is given to answer a launch; null_driver.py declares it once more. */
struct request {
  const char *entry;
  const char *image;
  size_t image_bytes;
  unsigned grid[3], block[3], cluster[3], shared;
  int device;
  const unsigned char *parameters; /* as the entry lays them out */
  size_t parameter_bytes;
  uint64_t library; /* tells libraries apart */
  const struct context *context;
};

typedef int (*launch_answer)(const struct request *);
extern launch_answer on_launch; /* where there is one, work waits in streams until something waits for it */

struct launch {
  struct kernel *kernel;
  unsigned grid[3], block[3], cluster[3], shared;
  size_t bytes;
  unsigned char *parameters;
};

CUresult run_launch(const struct launch *launch, struct context *context);

/* memory.c ----------------------------------------------------------------------------------------------------------- */

CUresult run_copy(uint64_t to, uint64_t from, size_t bytes, int kind);
CUresult run_set(uint64_t to, uint32_t value, int width, size_t pitch, size_t columns, size_t rows);
CUresult set_aside(struct context *context, size_t bytes);
void forget_memory(uint64_t address);

/* streams.c ---------------------------------------------------------------------------------------------------------- */

enum { TO_DEVICE = 1, TO_HOST = 2, ON_DEVICE = 3 }; /* which ends of a copy are device memory, a bit each */

struct work {
  struct work *next;
  enum { LAUNCH, COPY, SET, FREE, HOST, RECORD_EVENT, WAIT_EVENT } kind;
  uint64_t number; /* in the order of enqueueing, over all streams */
  struct launch launch;
  uint64_t to, from; /* COPY, SET, FREE */
  unsigned char *staged; /* what of pageable memory was there when the copy was asked for */
  size_t bytes, pitch, rows;
  uint32_t value;
  int way, width;
  void (*function)(void *), *data; /* HOST */
  struct event *event;             /* RECORD_EVENT */
  struct stream *other;            /* WAIT_EVENT: until `other`, or all streams of `whole`, have done their work up to `upto` */
  struct context *whole;
  uint64_t upto;
};

struct stream {
  struct stream *next;
  struct context *context;
  struct work *first, **last;
  unsigned flags;
  int priority, alive, forked; /* forked: captured work that nothing has waited for */
  uint64_t id, enqueued;
  struct capture *capture;
};

struct capture {
  struct graph *graph;
  struct stream *origin;
  int mode, invalid, ended;
  pthread_t thread;
  uint64_t id;
};

/* What the driver makes of a handle: NULL and 1 are the current context's default stream, 2 the thread's own. NULL for
 * one that it does not know, which without a callback may be any number. */
struct stream *stream_of(void *handle);
CUresult find_stream(void *handle, struct stream **stream);
CUresult create_stream(struct stream **stream, struct context *context, unsigned flags, int priority);
CUresult enqueue(struct stream *stream, const struct work *work); /* or capture, or run at once where nothing waits */
CUresult wait_for(struct stream *stream, uint64_t upto);
CUresult wait_for_context(struct context *context);
CUresult nothing_captured(const struct context *context); /* fails, and takes the captures of its streams with it */
CUresult allowed_in_capture(void); /* what may not be called while something is captured */
int capturing(const struct stream *stream);
void delete_work(struct work *work);
struct work *copy_of(const struct work *work);

/* graphs.c ----------------------------------------------------------------------------------------------------------- */

struct graph *new_graph(void);
API cuGraphDestroy(struct graph *graph);
CUresult add_node(struct stream *stream, const struct work *work);
void invalidate(struct capture *capture);

#pragma GCC visibility pop
