/* Streams and events. With a launch callback, work stays in its stream until a call waits for it: as late as the driver
 * permits, so that a missing wait is visible. Without a callback, work is executed when it is enqueued. */
#include "driver.h"

#include <dlfcn.h>
#include <time.h>

enum { NON_BLOCKING = 1, LEGACY = 1 << 30, NO_TIMING = 2, MOST_OWN = 8 };

struct event {
  struct context *context;
  struct stream *stream; /* stream of the last record, or of the capture */
  struct context *whole; /* or a context: all of its streams */
  uint64_t recorded;     /* number of the last work before it */
  double time;           /* completion time in milliseconds */
  unsigned flags;
  struct capture *capture;
};

__thread int capture_mode; /* global, unless changed by cuThreadExchangeStreamCaptureMode */
static struct stream *streams;
static uint64_t enqueued; /* number of works over all streams */
static uint64_t made;     /* number of streams and captures */
static int captures;
static __thread struct { struct context *context; struct stream *stream; } own[MOST_OWN]; /* the thread's default streams */
static __thread int running;

/* Held by the thread that executes work, which may need the GIL: a thread must release the GIL to wait for it. */
static pthread_mutex_t working = PTHREAD_MUTEX_INITIALIZER;

static void begin_to_work(void) {
  if (pthread_mutex_trylock(&working) == 0) return;
  int (*holds)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "PyGILState_Check");
  void *(*give)(void) = (void *(*)(void))dlsym(RTLD_DEFAULT, "PyEval_SaveThread");
  void (*take)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "PyEval_RestoreThread");
  void *thread = holds && give && take && holds() ? give() : NULL;
  pthread_mutex_lock(&working);
  if (!thread) return;
  pthread_mutex_unlock(&working);
  take(thread); /* until this thread has the GIL again, another one may take the lock: retry */
  begin_to_work();
}

/* Work --------------------------------------------------------------------------------------------------------------- */

struct work *copy_of(const struct work *work) {
  struct work *copy = malloc(sizeof *copy);
  *copy = *work;
  copy->next = NULL;
  if (work->kind == LAUNCH) {
    copy->launch.parameters = malloc(work->launch.bytes + 1);
    memcpy(copy->launch.parameters, work->launch.parameters, work->launch.bytes);
    __atomic_add_fetch(&work->launch.kernel->library->waiting, 1, __ATOMIC_RELAXED);
  }
  return copy;
}

void delete_work(struct work *work) {
  if (work->kind == LAUNCH) {
    struct library *library = work->launch.kernel->library;
    free(work->launch.parameters);
    pthread_mutex_lock(&state);
    __atomic_sub_fetch(&library->waiting, 1, __ATOMIC_RELAXED);
    release_library(library);
    pthread_mutex_unlock(&state);
  }
  free(work->staged);
  free(work);
}

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static CUresult execute(const struct work *work, struct context *context) {
  switch (work->kind) {
    case LAUNCH: return run_launch(&work->launch, context);
    case COPY: return run_copy(work->to, work->staged ? (uintptr_t)work->staged : work->from, work->bytes, work->way);
    case SET: return run_set(work->to, work->value, work->width, work->pitch, work->bytes, work->rows);
    case FREE: forget_memory(work->to); return SUCCESS;
    case HOST: work->function(work->data); return SUCCESS;
    case RECORD_EVENT: work->event->time = milliseconds(); return SUCCESS;
    case WAIT_EVENT: return SUCCESS;
  }
  return SUCCESS;
}

static int of(const struct stream *stream, const struct context *context) {
  int part = context->kind == PRIMARY && stream->context->kind == GREEN && stream->context->device == context->device;
  return stream->context == context || part;
}

static int blocking(const struct stream *stream) { return !(stream->flags & (NON_BLOCKING | LEGACY)); }

static void drain(struct stream *stream, uint64_t upto);

/* Execute everything that `work` waits for: an event, and the order of the default stream and blocking streams. */
static void do_before(const struct stream *stream, const struct work *work) {
  if (work->kind == WAIT_EVENT)
    for (struct stream *other = streams; other; other = other->next)
      if (work->whole ? of(other, work->whole) && other != stream : other == work->other) drain(other, work->upto);
  if (stream->flags & LEGACY) {
    for (struct stream *other = streams; other; other = other->next)
      if (other->context == stream->context && blocking(other)) drain(other, work->number);
  } else if (blocking(stream) && stream->context->legacy) {
    drain(stream->context->legacy, work->number);
  }
}

static void drain(struct stream *stream, uint64_t upto) {
  for (;;) {
    struct work *work = __atomic_load_n(&stream->first, __ATOMIC_ACQUIRE);
    if (!work || work->number > upto) return;
    do_before(stream, work);
    CUresult result = SUCCESS;
    if (stream->context->lost == SUCCESS || work->kind == FREE) result = execute(work, stream->context);
    if (result != SUCCESS) stream->context->lost = result;
    pthread_mutex_lock(&state);
    stream->first = work->next;
    if (!stream->first) stream->last = &stream->first;
    pthread_mutex_unlock(&state);
    delete_work(work);
  }
}

/* Execute the work of a stream up to a number; return the status of its context. */
CUresult wait_for(struct stream *stream, uint64_t upto) {
  if (stream->first && !running) { /* calls from the launch callback must not wait for that launch */
    begin_to_work();
    ++running;
    if (stream->flags & LEGACY) do_before(stream, &(struct work){.number = UINT64_MAX});
    drain(stream, upto);
    --running;
    pthread_mutex_unlock(&working);
  }
  return stream->context->lost;
}

CUresult wait_for_context(struct context *context) {
  for (struct stream *stream = streams; stream; stream = stream->next)
    if (of(stream, context)) wait_for(stream, UINT64_MAX);
  return context->lost;
}

static void push(struct stream *stream, struct work *work) {
  pthread_mutex_lock(&state);
  work->number = stream->enqueued = ++enqueued;
  __atomic_store_n(stream->last, work, __ATOMIC_RELEASE);
  stream->last = &work->next;
  pthread_mutex_unlock(&state);
}

static CUresult at_once(struct stream *stream, const struct work *given) {
  struct work work = *given;
  work.number = __atomic_add_fetch(&enqueued, 1, __ATOMIC_RELAXED);
  if (stream) stream->enqueued = work.number;
  CUresult result = execute(&work, stream ? stream->context : current);
  free(work.staged);
  return result;
}

static struct stream *captured_beside(const struct stream *stream) {
  for (struct stream *other = streams; captures && other; other = other->next)
    if (other->context == stream->context && blocking(other) && other->capture) return other;
  return NULL;
}

CUresult enqueue(struct stream *stream, const struct work *work) {
  if (!stream) return at_once(stream, work);
  if (stream->capture) return add_node(stream, work);
  PASS_ON(usable(stream->context));
  struct stream *beside = stream->flags & LEGACY ? captured_beside(stream) : NULL;
  if (beside) return invalidate(beside->capture), CAPTURE_IMPLICIT;
  if (!on_launch && !stream->first) return at_once(stream, work);
  struct work *copy = copy_of(work);
  return push(stream, copy), SUCCESS;
}

/* Handles ------------------------------------------------------------------------------------------------------------ */

static struct stream *new_stream(struct context *context, unsigned flags, int priority) {
  pthread_mutex_lock(&state);
  struct stream *stream = streams;
  while (stream && (stream->alive || stream->first)) stream = stream->next;
  if (!stream) {
    stream = calloc(1, sizeof *stream);
    stream->next = streams;
    __atomic_store_n(&streams, stream, __ATOMIC_RELEASE);
  }
  stream->context = context, stream->flags = flags, stream->priority = priority, stream->alive = 1;
  stream->last = &stream->first, stream->id = ++made, stream->capture = NULL;
  pthread_mutex_unlock(&state);
  return stream;
}

static struct stream *default_stream(void) {
  if (!current) return NULL;
  if (!current->legacy) current->legacy = new_stream(current, LEGACY, 0);
  return current->legacy;
}

static struct stream *own_stream(void) {
  for (int i = 0; current && i < MOST_OWN; ++i) {
    if (!own[i].context) own[i].context = current, own[i].stream = new_stream(current, 0, 0);
    if (own[i].context == current) return own[i].stream;
  }
  return NULL;
}

struct stream *stream_of(void *handle) {
  if ((uintptr_t)handle <= 1) return default_stream();
  if ((uintptr_t)handle == 2) return own_stream();
  for (struct stream *stream = streams; stream; stream = stream->next)
    if (stream == handle) return stream->alive ? stream : NULL;
  return NULL;
}

CUresult find_stream(void *handle, struct stream **stream) {
  *stream = stream_of(handle);
  if ((uintptr_t)handle <= 2) return usable(current);
  return *stream || !on_launch ? SUCCESS : INVALID_HANDLE;
}

int capturing(const struct stream *stream) { return stream && stream->capture; }

CUresult create_stream(struct stream **stream, struct context *context, unsigned flags, int priority) {
  COUNT(streams_live, 1);
  RECORD(say("{\"call\": \"cuStreamCreate\", \"flags\": %u}", flags));
  return *stream = new_stream(context, flags, priority), SUCCESS;
}

API cuStreamCreateWithPriority(struct stream **stream, unsigned flags, int priority) {
  PASS_ON(usable(current));
  if (flags > NON_BLOCKING) return INVALID_VALUE;
  return create_stream(stream, current, flags, priority > 0 ? 0 : priority < -5 ? -5 : priority);
}

API cuStreamCreate(struct stream **stream, unsigned flags) {
  MAY_FAIL();
  return cuStreamCreateWithPriority(stream, flags, 0);
}

API cuStreamDestroy_v2(struct stream *stream) {
  MAY_FAIL();
  if (!stream_of(stream) || (uintptr_t)stream <= 2) return INVALID_HANDLE;
  if (stream->capture && (stream->forked || stream == stream->capture->origin)) invalidate(stream->capture);
  wait_for(stream, UINT64_MAX);
  stream->alive = stream->forked = 0;
  if (stream->capture && stream != stream->capture->origin) stream->capture = NULL; /* the captured work stays */
  return COUNT(streams_live, -1), SUCCESS;
}

/* Check for every call that waits: a captured stream executes nothing, so it cannot be waited for. */
static CUresult waitable(void *handle, struct stream **stream) {
  PASS_ON(find_stream(handle, stream));
  if (!*stream) return SUCCESS;
  if ((*stream)->capture) return invalidate((*stream)->capture), CAPTURE_UNSUPPORTED;
  struct stream *beside = (*stream)->flags & LEGACY ? captured_beside(*stream) : NULL;
  if (beside) return invalidate(beside->capture), CAPTURE_IMPLICIT;
  return usable((*stream)->context);
}

API cuStreamSynchronize(void *handle) {
  MAY_FAIL();
  struct stream *stream;
  PASS_ON(waitable(handle, &stream));
  return stream ? wait_for(stream, UINT64_MAX) : SUCCESS;
}

/* Each query executes one piece of work, so that repeated queries terminate. */
API cuStreamQuery(void *handle) {
  MAY_FAIL();
  struct stream *stream;
  PASS_ON(waitable(handle, &stream));
  struct work *first = stream ? stream->first : NULL;
  if (!first) return SUCCESS;
  PASS_ON(wait_for(stream, first->number));
  return NOT_READY;
}

API cuStreamGetCtx(void *handle, struct context **context) {
  struct stream *stream;
  PASS_ON(find_stream(handle, &stream));
  return stream ? (*context = stream->context, SUCCESS) : INVALID_HANDLE;
}

API cuStreamGetCtx_v2(void *handle, struct context **context, char **green) {
  PASS_ON(cuStreamGetCtx(handle, context));
  *green = (*context)->kind == GREEN ? &(*context)->green : NULL;
  if (*green) *context = NULL;
  return SUCCESS;
}

API cuStreamGetGreenCtx(void *handle, char **green) {
  struct context *context;
  PASS_ON(cuStreamGetCtx(handle, &context));
  return *green = context->kind == GREEN ? &context->green : NULL, SUCCESS;
}

#define ASKING(what, type, value)                    \
  API cuStreamGet##what(void *handle, type *answer) { \
    struct stream *stream;                           \
    PASS_ON(find_stream(handle, &stream));           \
    if (!stream) return INVALID_HANDLE;              \
    return *answer = value, SUCCESS;                 \
  }

ASKING(Priority, int, stream->priority)
ASKING(Flags, unsigned, stream->flags & NON_BLOCKING)
ASKING(Id, unsigned long long, stream->id)
ASKING(Device, int, stream->context->device)

API cuLaunchHostFunc(void *handle, void (*function)(void *), void *data) {
  MAY_FAIL();
  struct stream *stream;
  PASS_ON(find_stream(handle, &stream));
  return enqueue(stream, &(struct work){.kind = HOST, .function = function, .data = data});
}

/* Events ------------------------------------------------------------------------------------------------------------- */

static int recorded_on(const struct event *event, const struct stream *stream) {
  return event->whole ? of(stream, event->whole) : stream == event->stream;
}

static int complete(const struct event *event) {
  for (struct stream *stream = streams; stream; stream = stream->next) {
    const struct work *first = stream->first;
    if (first && first->number <= event->recorded && recorded_on(event, stream)) return 0;
  }
  return 1;
}

/* Execute the work before an event, or one piece of it. */
static CUresult progress(const struct event *event, int one) {
  for (struct stream *stream = streams; stream; stream = stream->next) {
    const struct work *first = stream->first;
    if (!first || first->number > event->recorded || !recorded_on(event, stream)) continue;
    PASS_ON(wait_for(stream, one ? first->number : event->recorded));
    if (one) break;
  }
  return SUCCESS;
}

API cuEventCreate(struct event **event, unsigned flags) {
  MAY_FAIL();
  PASS_ON(usable(current));
  *event = calloc(1, sizeof **event);
  COUNT(events_live, 1);
  return (*event)->context = current, (*event)->flags = flags, SUCCESS;
}

API cuEventDestroy_v2(struct event *event) {
  MAY_FAIL();
  if (event->recorded) progress(event, 0); /* queued work stores its completion time in the event */
  COUNT(events_live, -1);
  return free(event), SUCCESS;
}

API cuEventRecord(struct event *event, void *handle) {
  MAY_FAIL();
  struct stream *stream;
  PASS_ON(find_stream(handle, &stream));
  if (!stream || stream->context != event->context) return INVALID_HANDLE;
  event->stream = stream, event->whole = NULL, event->capture = stream->capture;
  if (stream->capture) return SUCCESS;
  PASS_ON(enqueue(stream, &(struct work){.kind = RECORD_EVENT, .event = event}));
  return event->recorded = stream->enqueued, SUCCESS;
}

API cuEventRecordWithFlags(struct event *event, void *handle, unsigned flags) {
  return flags ? NOT_SUPPORTED : cuEventRecord(event, handle);
}

API cuCtxRecordEvent(struct context *context, struct event *event) {
  MAY_FAIL();
  RECORD(say("{\"call\": \"cuCtxRecordEvent\", \"context\": %d, \"event\": %lu}", context->device, (uintptr_t)event));
  PASS_ON(setting("capturing") ? CAPTURE_UNSUPPORTED : nothing_captured(context));
  event->whole = context, event->stream = NULL, event->capture = NULL;
  event->recorded = __atomic_add_fetch(&enqueued, 1, __ATOMIC_RELAXED);
  return event->time = milliseconds(), SUCCESS;
}

static CUresult askable(const struct event *event) {
  if (event->capture) return invalidate(event->capture), CAPTURED_EVENT;
  PASS_ON(allowed_in_capture());
  return usable(event->context);
}

API cuEventQuery(struct event *event) {
  MAY_FAIL();
  if (setting("events_pending")) return NOT_READY;
  PASS_ON(askable(event));
  if (complete(event)) return SUCCESS;
  PASS_ON(progress(event, 1));
  return NOT_READY;
}

API cuEventSynchronize(struct event *event) {
  MAY_FAIL();
  PASS_ON(askable(event));
  return progress(event, 0);
}

API cuEventElapsedTime_v2(float *time, const struct event *start, const struct event *end) {
  MAY_FAIL();
  if (((start->flags | end->flags) & NO_TIMING) || !start->recorded || !end->recorded) return INVALID_HANDLE;
  if (!complete(start) || !complete(end)) return NOT_READY;
  return *time = (float)(end->time - start->time), SUCCESS;
}

API cuEventElapsedTime(float *time, const struct event *start, const struct event *end) {
  return cuEventElapsedTime_v2(time, start, end);
}

/* A stream that waits for captured work of another stream joins the capture, until the capture ends. */
static CUresult join(struct stream *stream, struct event *event) {
  if (stream->flags & LEGACY) return invalidate(event->capture), CAPTURE_IMPLICIT;
  if (stream->capture && stream->capture != event->capture) return invalidate(stream->capture), CAPTURE_ISOLATION;
  if (!stream->capture) stream->capture = event->capture, stream->forked = 1;
  if (event->stream != stream) event->stream->forked = 0;
  return SUCCESS;
}

API cuStreamWaitEvent(void *handle, struct event *event, unsigned flags) {
  MAY_FAIL();
  (void)flags;
  struct stream *stream;
  PASS_ON(find_stream(handle, &stream));
  if (event->capture && event->capture->ended) return CAPTURED_EVENT;
  if (event->capture) return stream ? join(stream, event) : INVALID_HANDLE;
  if (stream && stream->capture) return invalidate(stream->capture), CAPTURE_ISOLATION;
  if (complete(event)) return SUCCESS;
  return enqueue(stream, &(struct work){.kind = WAIT_EVENT, .other = event->stream, .whole = event->whole, .upto = event->recorded});
}

/* Capture ------------------------------------------------------------------------------------------------------------ */

enum { GLOBAL_MODE, THREAD_MODE, RELAXED_MODE };

/* An unsafe call fails and invalidates a capture of this thread whose mode is not relaxed, or a global capture of another
 * thread if this thread's mode is global. */
CUresult allowed_in_capture(void) {
  if (!captures || capture_mode == RELAXED_MODE) return SUCCESS;
  CUresult result = SUCCESS;
  for (struct stream *stream = streams; stream; stream = stream->next) {
    struct capture *capture = stream->capture;
    if (!capture || capture->mode == RELAXED_MODE) continue;
    int mine = pthread_equal(capture->thread, pthread_self());
    if (!mine && (capture->mode != GLOBAL_MODE || capture_mode != GLOBAL_MODE)) continue;
    invalidate(capture);
    result = CAPTURE_UNSUPPORTED;
  }
  return result;
}

CUresult nothing_captured(const struct context *context) {
  CUresult result = SUCCESS;
  for (struct stream *stream = streams; captures && stream; stream = stream->next) {
    if (!stream->capture || !of(stream, context)) continue;
    invalidate(stream->capture);
    result = CAPTURE_UNSUPPORTED;
  }
  return result;
}

API cuStreamBeginCapture_v2(void *handle, int mode) {
  MAY_FAIL();
  struct stream *stream;
  PASS_ON(find_stream(handle, &stream));
  if (!stream) return INVALID_HANDLE;
  if (stream->flags & LEGACY) return CAPTURE_UNSUPPORTED;
  if (stream->capture) return ILLEGAL_STATE;
  struct capture *capture = calloc(1, sizeof *capture);
  capture->graph = new_graph(), capture->origin = stream, capture->mode = mode, capture->thread = pthread_self();
  capture->id = ++made;
  COUNT(captures, 1);
  RECORD(say("{\"call\": \"cuStreamBeginCapture\", \"stream\": %lu, \"mode\": %d}", (uintptr_t)handle, mode));
  return stream->capture = capture, SUCCESS;
}

/* Remove all streams from a capture; return whether one was forked and never joined. */
static int release_streams(const struct capture *capture) {
  int unjoined = 0;
  for (struct stream *stream = streams; stream; stream = stream->next) {
    if (stream->capture != capture) continue;
    unjoined |= stream != capture->origin && stream->forked;
    stream->capture = NULL, stream->forked = 0;
  }
  return unjoined;
}

API cuStreamEndCapture(void *handle, struct graph **graph) {
  MAY_FAIL();
  struct stream *stream;
  PASS_ON(find_stream(handle, &stream));
  *graph = NULL;
  struct capture *capture = stream ? stream->capture : NULL;
  if (!capture) return ILLEGAL_STATE;
  if (capture->origin != stream) return invalidate(capture), CAPTURE_UNMATCHED;
  if (capture->mode != RELAXED_MODE && !pthread_equal(capture->thread, pthread_self())) return CAPTURE_WRONG_THREAD;
  int unjoined = release_streams(capture);
  capture->ended = 1;
  COUNT(captures, -1);
  RECORD(say("{\"call\": \"cuStreamEndCapture\", \"stream\": %lu}", (uintptr_t)handle));
  CUresult result = capture->invalid ? CAPTURE_INVALIDATED : unjoined ? CAPTURE_UNJOINED : SUCCESS;
  if (result == SUCCESS) *graph = capture->graph;
  else cuGraphDestroy(capture->graph);
  return result; /* the capture is not freed: events recorded during it refer to it */
}

API cuStreamIsCapturing(void *handle, int *status) {
  MAY_FAIL();
  struct stream *stream;
  PASS_ON(find_stream(handle, &stream));
  int legacy = stream && stream->flags & LEGACY;
  if (legacy && (setting("capturing") || captured_beside(stream))) return CAPTURE_IMPLICIT;
  return *status = !capturing(stream) ? 0 : stream->capture->invalid ? 2 : 1, SUCCESS;
}

API cuStreamGetCaptureInfo_v2(void *handle, int *status, uint64_t *id, struct graph **graph, const void **nodes, size_t *count) {
  PASS_ON(cuStreamIsCapturing(handle, status));
  if (*status != 1) return SUCCESS;
  const struct capture *capture = stream_of(handle)->capture;
  if (id) *id = capture->id;
  if (graph) *graph = capture->graph;
  if (nodes) *nodes = NULL;
  if (count) *count = 0;
  return SUCCESS;
}

API cuStreamGetCaptureInfo_v3(void *handle, int *status, uint64_t *id, struct graph **graph, const void **nodes,
                              const void **edges, size_t *count) {
  if (edges) *edges = NULL;
  return cuStreamGetCaptureInfo_v2(handle, status, id, graph, nodes, count);
}
