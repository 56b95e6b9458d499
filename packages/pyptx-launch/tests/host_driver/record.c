/* Settings of the driver, its record of calls, requested failures, and its errors. */
#include "driver.h"

#include <stdarg.h>

/* Settings, changed by null_driver_set ----------------------------------------------------------------------------- */

static struct { const char *name; long value; } settings[] = {
    {"devices", 2},         {"capability", 90},    {"shared_optin", 232448}, {"static_shared", 0}, {"max_threads", 1024},
    {"cluster_launch", 1},  {"version", 13000},    {"registers", 32},        {"init", 0},
    {"capturing", 0},       {"events_pending", 0},
    {"multiprocessors", 132}, {"memory", 80L << 30}, /* of a device, in bytes */
};
#define SETTINGS (sizeof settings / sizeof *settings)

long setting(const char *name) {
  for (size_t i = 0; i < SETTINGS; ++i)
    if (strcmp(settings[i].name, name) == 0) return settings[i].value;
  abort();
}

OURS int null_driver_set(const char *name, long value) {
  for (size_t i = 0; i < SETTINGS; ++i)
    if (strcmp(settings[i].name, name) == 0) return settings[i].value = value, 1;
  return 0;
}

/* Record of calls -------------------------------------------------------------------------------------------------- */

pthread_mutex_t recorded = PTHREAD_MUTEX_INITIALIZER;
static char *text;
size_t length;
static size_t room;
int recording = 1;

OURS void null_driver_record(int on) { recording = on; }

void append(const char *piece, size_t size) {
  if (length + size + 1 > room) text = realloc(text, room = 2 * (length + size + 1));
  memcpy(text + length, piece, size);
  length += size;
  text[length] = '\0';
}

void say(const char *format, ...) {
  char piece[4096];
  va_list arguments;
  va_start(arguments, format);
  int size = vsnprintf(piece, sizeof piece, format, arguments);
  va_end(arguments);
  append(piece, size < (int)sizeof piece ? (size_t)size : sizeof piece - 1);
}

void say_bytes(const void *bytes, size_t size) {
  static const char digits[] = "0123456789abcdef";
  append("\"", 1);
  for (size_t i = 0; i < size; ++i) {
    unsigned char byte = ((const unsigned char *)bytes)[i];
    char two[2] = {digits[byte >> 4], digits[byte & 15]};
    append(two, 2);
  }
  append("\"", 1);
}

/* For programs not written in Python: append every line to the file NULL_DRIVER_LOG, if it is set. */
void to_file(size_t from) {
  const char *path = getenv("NULL_DRIVER_LOG");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (!file) return;
  fwrite(text + from, 1, length - from, file);
  fclose(file);
}

/* Return the recorded lines, and clear them; the caller frees the result. */
OURS char *null_driver_take(void) {
  pthread_mutex_lock(&recorded);
  char *taken = text ? text : calloc(1, 1);
  text = NULL;
  length = room = 0;
  pthread_mutex_unlock(&recorded);
  return taken;
}

OURS void null_driver_free(char *taken) { free(taken); }

/* Requested failures ----------------------------------------------------------------------------------------------- */

static struct { char call[64]; CUresult result; int after, times; } failing[16];
int any_failing;

OURS void null_driver_fail(const char *call, CUresult result, int after, int times) {
  pthread_mutex_lock(&recorded);
  for (int i = 0; i < 16; ++i)
    if (failing[i].times == 0) {
      snprintf(failing[i].call, sizeof failing[i].call, "%s", call);
      failing[i].result = result, failing[i].after = after, failing[i].times = times;
      any_failing = 1;
      break;
    }
  pthread_mutex_unlock(&recorded);
}

OURS void null_driver_fail_nothing(void) {
  memset(failing, 0, sizeof failing);
  any_failing = 0;
}

CUresult demanded(const char *call) {
  CUresult result = SUCCESS;
  pthread_mutex_lock(&recorded);
  for (int i = 0; i < 16 && result == SUCCESS; ++i) {
    if (failing[i].times == 0 || strcmp(failing[i].call, call) != 0) continue;
    if (failing[i].after > 0) --failing[i].after;
    else --failing[i].times, result = failing[i].result;
  }
  pthread_mutex_unlock(&recorded);
  return result;
}

/* Errors ----------------------------------------------------------------------------------------------------------- */

static const struct { CUresult code; const char *name; } names[] = {
    {0, "CUDA_SUCCESS"}, {1, "CUDA_ERROR_INVALID_VALUE"}, {2, "CUDA_ERROR_OUT_OF_MEMORY"},
    {3, "CUDA_ERROR_NOT_INITIALIZED"}, {4, "CUDA_ERROR_DEINITIALIZED"}, {34, "CUDA_ERROR_STUB_LIBRARY"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"}, {100, "CUDA_ERROR_NO_DEVICE"}, {101, "CUDA_ERROR_INVALID_DEVICE"},
    {200, "CUDA_ERROR_INVALID_IMAGE"}, {201, "CUDA_ERROR_INVALID_CONTEXT"}, {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
    {218, "CUDA_ERROR_INVALID_PTX"}, {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"}, {223, "CUDA_ERROR_JIT_COMPILATION_DISABLED"},
    {300, "CUDA_ERROR_INVALID_SOURCE"}, {302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM"}, {400, "CUDA_ERROR_INVALID_HANDLE"}, {401, "CUDA_ERROR_ILLEGAL_STATE"}, {500, "CUDA_ERROR_NOT_FOUND"},
    {600, "CUDA_ERROR_NOT_READY"}, {700, "CUDA_ERROR_ILLEGAL_ADDRESS"}, {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT"}, {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED"}, {710, "CUDA_ERROR_ASSERT"},
    {714, "CUDA_ERROR_HARDWARE_STACK_ERROR"}, {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS"}, {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE"}, {718, "CUDA_ERROR_INVALID_PC"},
    {719, "CUDA_ERROR_LAUNCH_FAILED"}, {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"},
    {801, "CUDA_ERROR_NOT_SUPPORTED"}, {802, "CUDA_ERROR_SYSTEM_NOT_READY"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"}, {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"}, {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE"}, {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"}, {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"}, {907, "CUDA_ERROR_CAPTURED_EVENT"}, {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"},
    {912, "CUDA_ERROR_INVALID_CLUSTER_SIZE"},
    {915, "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION"}, {999, "CUDA_ERROR_UNKNOWN"},
};

API cuGetErrorName(CUresult code, const char **name) {
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (names[i].code == code) return *name = names[i].name, SUCCESS;
  return *name = NULL, INVALID_VALUE;
}

API cuGetErrorString(CUresult code, const char **meaning) {
  *meaning = "what the driver says of it";
  const char *name;
  return cuGetErrorName(code, &name);
}

/* Numbers of live objects -------------------------------------------------------------------------------------------- */

long memory_live, libraries_live, streams_live, events_live;

OURS long null_driver_live(int what) {
  const long live[] = {memory_live, libraries_live, streams_live, events_live};
  return live[what];
}
