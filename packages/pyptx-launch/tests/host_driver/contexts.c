/* Devices and contexts: primary contexts, created contexts, and green contexts with a part of the SMs. */
#include "driver.h"

static struct context primaries[MOST_DEVICES];
__thread struct context *current;
static __thread struct context *below[64]; /* the thread's stack of contexts below the current one */
static __thread int depth;
pthread_mutex_t state = PTHREAD_MUTEX_INITIALIZER;

long current_device(void) { return current ? current->device : -1; }

static int no_device(int device) { return device < 0 || device >= setting("devices"); }

/* Return the error of any call in an unusable context. */
CUresult usable(const struct context *context) {
  if (!context) return INVALID_CONTEXT;
  if (!context->alive) return CONTEXT_IS_DESTROYED;
  return context->lost;
}

struct context *primary(int device) {
  struct context *context = &primaries[device];
  if (!context->alive) {
    context->device = device, context->kind = PRIMARY, context->alive = 1;
    context->multiprocessors = (unsigned)setting("multiprocessors");
  }
  return context;
}

/* Restore lost primary contexts; with NVIDIA's driver the process would have to end. */
OURS void null_driver_mend(void) {
  for (int i = 0; i < MOST_DEVICES; ++i) primaries[i].lost = SUCCESS;
}

/* Devices ------------------------------------------------------------------------------------------------------------ */

API cuInit(unsigned flags) { return flags ? INVALID_VALUE : (CUresult)setting("init"); }
API cuDriverGetVersion(int *version) { return *version = (int)setting("version"), SUCCESS; }
API cuDeviceGetCount(int *count) { return *count = (int)setting("devices"), SUCCESS; }
API cuDeviceGet(int *device, int ordinal) { return *device = ordinal, no_device(ordinal) ? INVALID_DEVICE : SUCCESS; }

API cuDeviceTotalMem_v2(size_t *bytes, int device) {
  return *bytes = (size_t)setting("memory"), no_device(device) ? INVALID_DEVICE : SUCCESS;
}

API cuDeviceGetName(char *name, int size, int device) {
  snprintf(name, (size_t)size, "null device %d", device);
  return SUCCESS;
}

API cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
  for (int i = 0; i < 16; ++i) uuid[i] = (unsigned char)(17 * i + device);
  return no_device(device) ? INVALID_DEVICE : SUCCESS;
}

API cuDeviceGetAttribute(int *value, int attribute, int device) {
  static const struct { int attribute, value; } same_for_all[] = { /* of a Hopper GPU, except the settings */
      {1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {5, 2147483647}, {6, 65535}, {7, 65535}, {8, 49152}, {9, 65536}, {10, 32},
      {12, 65536}, {13, 1980000}, {15, 1}, {17, 0}, {18, 0}, {19, 1}, {31, 1}, {38, 52428800}, {39, 2048}, {40, 2},
      {41, 1}, {78, 1}, {79, 1}, {81, 233472}, {82, 65536}, {83, 1}, {88, 1}, {89, 1}, {95, 1}, {106, 32}, {111, 1024},
      {115, 1}, {124, 1}, {127, 1},
  };
  if (no_device(device)) return INVALID_DEVICE;
  switch (attribute) {
    case 16: *value = (int)setting("multiprocessors"); return SUCCESS;
    case 75: *value = (int)setting("capability") / 10; return SUCCESS;
    case 76: *value = (int)setting("capability") % 10; return SUCCESS;
    case 97: *value = (int)setting("shared_optin"); return SUCCESS;
    case 120: *value = (int)setting("cluster_launch"); return SUCCESS;
  }
  for (size_t i = 0; i < sizeof same_for_all / sizeof *same_for_all; ++i)
    if (same_for_all[i].attribute == attribute) return *value = same_for_all[i].value, SUCCESS;
  return INVALID_VALUE;
}

/* Primary contexts --------------------------------------------------------------------------------------------------- */

API cuDevicePrimaryCtxRetain(struct context **context, int device) {
  MAY_FAIL();
  if (no_device(device)) return INVALID_DEVICE;
  RECORD(say("{\"call\": \"cuDevicePrimaryCtxRetain\", \"device\": %d}", device));
  return *context = primary(device), SUCCESS;
}

API cuDevicePrimaryCtxRelease_v2(int device) {
  RECORD(say("{\"call\": \"cuDevicePrimaryCtxRelease\", \"device\": %d}", device));
  return SUCCESS;
}

API cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
  if (no_device(device)) return INVALID_DEVICE;
  return *flags = 0, *active = primaries[device].alive, SUCCESS;
}

/* The thread's stack ------------------------------------------------------------------------------------------------- */

API cuCtxGetCurrent(struct context **context) {
  MAY_FAIL();
  return *context = current, SUCCESS;
}

static void pop(void) { current = depth ? below[--depth] : NULL; }

API cuCtxSetCurrent(struct context *context) {
  MAY_FAIL();
  if (context) current = context;
  else pop();
  RECORD(say("{\"call\": \"cuCtxSetCurrent\", \"device\": %ld}", current_device()));
  return SUCCESS;
}

API cuCtxPushCurrent_v2(struct context *context) {
  MAY_FAIL();
  if (!context || depth == 64) return INVALID_CONTEXT;
  below[depth++] = current;
  return current = context, SUCCESS;
}

API cuCtxPopCurrent_v2(struct context **context) {
  MAY_FAIL();
  if (!current) return INVALID_CONTEXT;
  if (context) *context = current;
  return pop(), SUCCESS;
}

API cuCtxGetDevice(int *device) {
  MAY_FAIL();
  return current ? (*device = current->device, SUCCESS) : INVALID_CONTEXT;
}

API cuCtxGetId(struct context *context, unsigned long long *id) { return *id = (uintptr_t)(context ? context : current), SUCCESS; }
API cuCtxGetFlags(unsigned *flags) { return current ? (*flags = current->flags, SUCCESS) : INVALID_CONTEXT; }
API cuCtxGetApiVersion(struct context *context, unsigned *version) { return (void)context, *version = 3020, SUCCESS; }
API cuCtxGetStreamPriorityRange(int *least, int *greatest) { return *least = 0, *greatest = -5, usable(current); }

API cuCtxSynchronize(void) {
  MAY_FAIL();
  RECORD(say("{\"call\": \"cuCtxSynchronize\", \"context\": %ld}", current_device()));
  PASS_ON(usable(current));
  PASS_ON(nothing_captured(current));
  return wait_for_context(current);
}

API cuThreadExchangeStreamCaptureMode(int *mode) {
  MAY_FAIL();
  int previous = capture_mode;
  capture_mode = *mode;
  RECORD(say("{\"call\": \"cuThreadExchangeStreamCaptureMode\", \"mode\": %d}", capture_mode));
  return *mode = previous, SUCCESS;
}

/* Created contexts --------------------------------------------------------------------------------------------------- */

static struct context *create(int kind, int device, unsigned flags, unsigned multiprocessors) {
  struct context *context = calloc(1, sizeof *context);
  context->kind = kind, context->device = device, context->flags = flags, context->alive = 1;
  context->multiprocessors = multiprocessors;
  RECORD(say("{\"call\": \"%s\", \"device\": %d}", kind == GREEN ? "cuGreenCtxCreate" : "cuCtxCreate", device));
  return context;
}

/* The structure of a destroyed context is kept: remaining handles to it get the correct error. */
static CUresult destroy(struct context *context) {
  CUresult result = wait_for_context(context);
  context->alive = 0;
  if (current == context) pop();
  return result;
}

API cuCtxCreate_v2(struct context **context, unsigned flags, int device) {
  MAY_FAIL();
  if (no_device(device)) return INVALID_DEVICE;
  *context = create(CREATED, device, flags, (unsigned)setting("multiprocessors"));
  return cuCtxPushCurrent_v2(*context);
}

API cuCtxCreate_v3(struct context **context, void *affinity, int count, unsigned flags, int device) {
  return affinity || count ? NOT_SUPPORTED : cuCtxCreate_v2(context, flags, device);
}

API cuCtxCreate_v4(struct context **context, void *parameters, unsigned flags, int device) {
  return parameters ? NOT_SUPPORTED : cuCtxCreate_v2(context, flags, device);
}

API cuCtxDestroy_v2(struct context *context) {
  MAY_FAIL();
  if (!context || context->kind != CREATED) return INVALID_CONTEXT;
  return context->alive ? destroy(context) : CONTEXT_IS_DESTROYED;
}

/* Green contexts: CUdevResource starts with a type and has the number of SMs at byte 96. ------------------------------ */

enum { MULTIPROCESSORS = 1, LEAST_OF_A_GROUP = 8, RESOURCE_BYTES = 144 };

struct resource { int type; char padding[92]; unsigned multiprocessors; char rest[RESOURCE_BYTES - 100]; };
struct description { unsigned multiprocessors; };

static void describe(struct resource *resource, unsigned multiprocessors) {
  memset(resource, 0, sizeof *resource);
  resource->type = MULTIPROCESSORS, resource->multiprocessors = multiprocessors;
}

static struct context *of_green(char *green) { return (struct context *)(green - offsetof(struct context, green)); }

API cuDeviceGetDevResource(int device, struct resource *resource, int type) {
  MAY_FAIL();
  if (no_device(device)) return INVALID_DEVICE;
  if (type != MULTIPROCESSORS) return NOT_SUPPORTED;
  return describe(resource, (unsigned)setting("multiprocessors")), SUCCESS;
}

API cuCtxGetDevResource(struct context *context, struct resource *resource, int type) {
  if (type != MULTIPROCESSORS) return NOT_SUPPORTED;
  return describe(resource, context->multiprocessors), SUCCESS;
}

API cuGreenCtxGetDevResource(char *green, struct resource *resource, int type) {
  return cuCtxGetDevResource(of_green(green), resource, type);
}

/* Groups have a multiple of eight SMs on this device: other requests are rounded up. */
API cuDevSmResourceSplitByCount(struct resource *groups, unsigned *count, const struct resource *whole,
                                struct resource *rest, unsigned flags, unsigned least) {
  MAY_FAIL();
  if (!count || !whole || whole->type != MULTIPROCESSORS || flags > 3) return INVALID_VALUE;
  unsigned size = (least + LEAST_OF_A_GROUP - 1) / LEAST_OF_A_GROUP * LEAST_OF_A_GROUP;
  if (size == 0) size = LEAST_OF_A_GROUP;
  unsigned possible = whole->multiprocessors / size;
  if (possible == 0) return INVALID_RESOURCE_CONFIGURATION;
  if (!groups || *count > possible) *count = possible;
  if (!groups) return SUCCESS;
  for (unsigned i = 0; i < *count; ++i) describe(&groups[i], size);
  if (rest) describe(rest, whole->multiprocessors - *count * size);
  return SUCCESS;
}

API cuDevResourceGenerateDesc(struct description **description, const struct resource *resources, unsigned count) {
  MAY_FAIL();
  if (!description || !resources || count == 0) return INVALID_VALUE;
  *description = calloc(1, sizeof **description);
  for (unsigned i = 0; i < count; ++i) (*description)->multiprocessors += resources[i].multiprocessors;
  return (*description)->multiprocessors ? SUCCESS : INVALID_RESOURCE_CONFIGURATION;
}

API cuGreenCtxCreate(char **green, struct description *description, int device, unsigned flags) {
  MAY_FAIL();
  if (no_device(device)) return INVALID_DEVICE;
  if (flags != 1) return INVALID_VALUE; /* CU_GREEN_CTX_DEFAULT_STREAM: required */
  return *green = &create(GREEN, device, flags, description->multiprocessors)->green, SUCCESS;
}

API cuGreenCtxDestroy(char *green) {
  MAY_FAIL();
  return green ? destroy(of_green(green)) : INVALID_VALUE;
}

API cuCtxFromGreenCtx(struct context **context, char *green) {
  MAY_FAIL();
  return green ? (*context = of_green(green), SUCCESS) : INVALID_VALUE;
}

API cuGreenCtxStreamCreate(struct stream **stream, char *green, unsigned flags, int priority) {
  MAY_FAIL();
  if (!green || flags != 1) return INVALID_VALUE; /* CU_STREAM_NON_BLOCKING: required */
  PASS_ON(usable(of_green(green)));
  return create_stream(stream, of_green(green), flags, priority);
}
