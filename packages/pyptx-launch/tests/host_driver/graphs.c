/* Graphs: captured work as a list, in an order that is consistent with every edge. */
#include "driver.h"

struct user_object { /* object of the user that lives as long as graphs refer to it */
  void *object;
  void (*destroy)(void *);
  unsigned references;
};

struct reference {
  struct reference *next;
  struct user_object *object;
  unsigned count;
};

struct graph {
  struct work *first, **last;
  size_t count;
  struct reference *references;
};

struct graph *new_graph(void) {
  struct graph *graph = calloc(1, sizeof *graph);
  graph->last = &graph->first;
  return graph;
}

static void add(struct graph *graph, const struct work *work) {
  struct work *copy = copy_of(work);
  if (work->staged) copy->staged = NULL; /* a node copies the source's contents at replay */
  *graph->last = copy;
  graph->last = &copy->next;
  ++graph->count;
}

void invalidate(struct capture *capture) { capture->invalid = 1; }

CUresult add_node(struct stream *stream, const struct work *work) {
  if (stream->capture->invalid) return CAPTURE_INVALIDATED;
  if (work->kind == FREE) return NOT_SUPPORTED;
  if (work->kind == WAIT_EVENT || work->kind == RECORD_EVENT) return SUCCESS; /* edges: see above */
  pthread_mutex_lock(&state);
  add(stream->capture->graph, work);
  if (stream != stream->capture->origin) stream->forked = 1;
  pthread_mutex_unlock(&state);
  return SUCCESS;
}

/* User objects ------------------------------------------------------------------------------------------------------- */

API cuUserObjectCreate(struct user_object **object, void *of, void (*destroy)(void *), unsigned references, unsigned flags) {
  MAY_FAIL();
  if (!of || !destroy || references == 0 || flags != 1) return INVALID_VALUE; /* CU_USER_OBJECT_NO_DESTRUCTOR_SYNC */
  *object = malloc(sizeof **object);
  return **object = (struct user_object){of, destroy, references}, SUCCESS;
}

API cuUserObjectRetain(struct user_object *object, unsigned count) {
  return __atomic_add_fetch(&object->references, count, __ATOMIC_RELAXED), SUCCESS;
}

API cuUserObjectRelease(struct user_object *object, unsigned count) {
  if (__atomic_sub_fetch(&object->references, count, __ATOMIC_RELAXED)) return SUCCESS;
  object->destroy(object->object);
  return free(object), SUCCESS;
}

static void refer(struct graph *graph, struct user_object *object, unsigned count) {
  struct reference *reference = malloc(sizeof *reference);
  *reference = (struct reference){graph->references, object, count};
  graph->references = reference;
}

API cuGraphRetainUserObject(struct graph *graph, struct user_object *object, unsigned count, unsigned flags) {
  MAY_FAIL();
  if (!(flags & 1)) cuUserObjectRetain(object, count); /* CU_GRAPH_USER_OBJECT_MOVE: the graph takes the caller's references */
  return refer(graph, object, count), SUCCESS;
}

API cuGraphReleaseUserObject(struct graph *graph, struct user_object *object, unsigned count) {
  MAY_FAIL();
  for (struct reference *each = graph->references; each; each = each->next) {
    if (each->object != object || each->count < count) continue;
    each->count -= count;
    return cuUserObjectRelease(object, count);
  }
  return INVALID_VALUE;
}

static void forget_references(struct graph *graph) {
  for (struct reference *each = graph->references, *next; each; each = next) {
    next = each->next;
    if (each->count) cuUserObjectRelease(each->object, each->count);
    free(each);
  }
}

/* Graphs ------------------------------------------------------------------------------------------------------------- */

API cuGraphDestroy(struct graph *graph) {
  MAY_FAIL();
  forget_references(graph);
  for (struct work *work = graph->first, *next; work; work = next) {
    next = work->next;
    delete_work(work);
  }
  return free(graph), SUCCESS;
}

/* CUgraphNodeType: kernel, memcpy, memset, host. */
static int type_of(const struct work *work) {
  return work->kind == LAUNCH ? 0 : work->kind == COPY ? 1 : work->kind == SET ? 2 : 3;
}

API cuGraphNodeGetType(const struct work *node, int *type) { return *type = type_of(node), SUCCESS; }

API cuGraphGetNodes(const struct graph *graph, const struct work **nodes, size_t *count) {
  size_t room = nodes ? *count : 0, at = 0;
  for (const struct work *work = graph->first; work && at < room; work = work->next) nodes[at++] = work;
  return *count = nodes ? at : graph->count, SUCCESS;
}

API cuGraphInstantiateWithFlags(struct graph **executable, const struct graph *graph, unsigned long long flags) {
  MAY_FAIL();
  (void)flags;
  PASS_ON(usable(current));
  *executable = new_graph();
  for (const struct work *work = graph->first; work; work = work->next) add(*executable, work);
  for (const struct reference *each = graph->references; each; each = each->next) {
    cuUserObjectRetain(each->object, each->count);
    refer(*executable, each->object, each->count);
  }
  RECORD(say("{\"call\": \"cuGraphInstantiate\", \"nodes\": %zu}", graph->count));
  return SUCCESS;
}

/* The function of this name in cuda.h and cuGetProcAddress since CUDA 12, not the older one with five arguments. */
API cuGraphInstantiate(struct graph **executable, const struct graph *graph, unsigned long long flags) {
  return cuGraphInstantiateWithFlags(executable, graph, flags);
}

struct instantiation { uint64_t flags; void *upload_stream, *failed_node; int result; };

API cuGraphInstantiateWithParams(struct graph **executable, const struct graph *graph, struct instantiation *parameters) {
  parameters->failed_node = NULL, parameters->result = 0;
  return cuGraphInstantiateWithFlags(executable, graph, parameters->flags);
}

API cuGraphUpload(const struct graph *executable, void *stream) { return (void)executable, (void)stream, SUCCESS; }

API cuGraphExecDestroy(struct graph *executable) { return cuGraphDestroy(executable); }

API cuGraphLaunch(const struct graph *executable, void *handle) {
  MAY_FAIL();
  struct stream *stream;
  PASS_ON(find_stream(handle, &stream));
  for (const struct work *work = executable->first; work; work = work->next) PASS_ON(enqueue(stream, work));
  RECORD(say("{\"call\": \"cuGraphLaunch\", \"nodes\": %zu, \"stream\": %lu}", executable->count, (uintptr_t)handle));
  return SUCCESS;
}
