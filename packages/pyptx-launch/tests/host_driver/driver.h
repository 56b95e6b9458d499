/* Declarations shared by the files of the host driver. Exports are the driver's functions (API) and those used by
 * null_driver.py (OURS). Structures of arguments follow the driver's ABI, declared from its documentation. */
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

#pragma GCC visibility push(hidden) /* access these declarations without the linker's tables */

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
  CUresult lost;         /* error of a kernel in this context, returned by all later calls */
  size_t local;          /* bytes of device memory reserved for its kernels' local memory */
  struct stream *legacy; /* its default stream */
  char green;            /* its address is the handle of a green context */
};

extern __thread struct context *current;
extern __thread int capture_mode;
struct context *primary(int device);
long current_device(void); /* -1: no current context */
CUresult usable(const struct context *context);

/* Protects contexts, streams, events, graphs and memory; never held during a wait. */
extern pthread_mutex_t state;

/* code.c ------------------------------------------------------------------------------------------------------------- */

#define MOST_PARAMETERS 512
#define ATTRIBUTES 16

enum { KERNEL = 0x4b45524e, FUNCTION = 0x46554e43 }; /* first word of the structure that a handle points to */

struct kernel {
  int tag;
  struct kernel *next;
  struct library *library;
  char *name;
  size_t count, offsets[MOST_PARAMETERS], sizes[MOST_PARAMETERS];
  int attributes[ATTRIBUTES];
  long threads, shared, local; /* from the PTX: maximum threads of a CTA (0: not given), bytes of shared and local memory */
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
  int target;  /* of a cubin, 90 for sm_90; 0 for PTX */
  int waiting; /* launches that have not run */
  int unloaded;
  struct kernel *kernels;
};

/* A CUkernel is valid as a CUfunction argument; `bound` is a function's context, or NULL. */
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

/* Argument of the launch callback; simulated.py declares it, too. */
struct request {
  const char *entry;
  const char *image;
  size_t image_bytes;
  unsigned grid[3], block[3], cluster[3], shared;
  int device;
  const unsigned char *parameters; /* in the layout of the entry */
  size_t parameter_bytes;
  uint64_t library; /* identifies the library */
  const struct context *context;
};

typedef int (*launch_answer)(const struct request *);
extern launch_answer on_launch; /* if set, work stays in its stream until a call waits for it */

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

enum { TO_DEVICE = 1, TO_HOST = 2, ON_DEVICE = 3 }; /* ends of a copy in device memory: destination, source */

struct work {
  struct work *next;
  enum { LAUNCH, COPY, SET, FREE, HOST, RECORD_EVENT, WAIT_EVENT } kind;
  uint64_t number; /* order of enqueueing over all streams */
  struct launch launch;
  uint64_t to, from; /* COPY, SET, FREE */
  unsigned char *staged; /* pageable source bytes, taken when the copy is enqueued */
  size_t bytes, pitch, rows;
  uint32_t value;
  int way, width;
  void (*function)(void *), *data; /* HOST */
  struct event *event;             /* RECORD_EVENT */
  struct stream *other;            /* WAIT_EVENT: until `other`, or all streams of `whole`, have completed work up to `upto` */
  struct context *whole;
  uint64_t upto;
};

struct stream {
  struct stream *next;
  struct context *context;
  struct work *first, **last;
  unsigned flags;
  int priority, alive, forked; /* forked: captured work that no stream of the capture has joined */
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

/* Return the stream of a handle: for NULL and 1 the current context's default stream, for 2 the thread's. NULL for an
 * unknown handle, which may be any number if there is no callback. */
struct stream *stream_of(void *handle);
CUresult find_stream(void *handle, struct stream **stream);
CUresult create_stream(struct stream **stream, struct context *context, unsigned flags, int priority);
CUresult enqueue(struct stream *stream, const struct work *work); /* or capture, or run at once if nothing is queued */
CUresult wait_for(struct stream *stream, uint64_t upto);
CUresult wait_for_context(struct context *context);
CUresult nothing_captured(const struct context *context); /* otherwise fails, and invalidates the captures of its streams */
CUresult allowed_in_capture(void); /* checked by calls that are unsafe during a capture */
int capturing(const struct stream *stream);
void delete_work(struct work *work);
struct work *copy_of(const struct work *work);

/* graphs.c ----------------------------------------------------------------------------------------------------------- */

struct graph *new_graph(void);
API cuGraphDestroy(struct graph *graph);
CUresult add_node(struct stream *stream, const struct work *work);
void invalidate(struct capture *capture);

#pragma GCC visibility pop
