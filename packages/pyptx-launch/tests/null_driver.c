/* A driver without a device: it stands for libcuda.so.1 in tests. It keeps contexts, loads images, reads the parameters
 * of their entries (of PTX and of cubins), gives out memory, and writes down every call that changes something, as a
 * line of JSON. null_driver.py reads those lines, and tells it what to be and which calls are to fail. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
enum { SUCCESS = 0, INVALID_VALUE = 1, NOT_FOUND = 500, INVALID_IMAGE = 200, INVALID_CONTEXT = 201, INVALID_PTX = 218 };

/* What it is, set by null_driver_set ------------------------------------------------------------------------------- */

static struct { const char *name; long value; } settings[] = {
    {"devices", 2},         {"capability", 90},    {"shared_optin", 232448}, {"static_shared", 0}, {"max_threads", 1024},
    {"cluster_launch", 1},  {"version", 13000},    {"registers", 32},        {"init", 0},
    {"capturing", 0},       {"events_pending", 0},
};
#define SETTINGS (sizeof settings / sizeof *settings)

static long setting(const char *name) {
  for (size_t i = 0; i < SETTINGS; ++i)
    if (strcmp(settings[i].name, name) == 0) return settings[i].value;
  abort();
}

int null_driver_set(const char *name, long value) {
  for (size_t i = 0; i < SETTINGS; ++i)
    if (strcmp(settings[i].name, name) == 0) return settings[i].value = value, 1;
  return 0;
}

/* What it writes down ---------------------------------------------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char *text;
static size_t length, room;
static int recording = 1;
static long launches;

void null_driver_record(int on) { recording = on; }
long null_driver_launches(void) { return __atomic_load_n(&launches, __ATOMIC_RELAXED); }

static void append(const char *piece, size_t size) {
  if (length + size + 1 > room) text = realloc(text, room = 2 * (length + size + 1));
  memcpy(text + length, piece, size);
  length += size;
  text[length] = '\0';
}

static void say(const char *format, ...) {
  char piece[4096];
  va_list arguments;
  va_start(arguments, format);
  int size = vsnprintf(piece, sizeof piece, format, arguments);
  va_end(arguments);
  append(piece, size < (int)sizeof piece ? (size_t)size : sizeof piece - 1);
}

static void say_bytes(const void *bytes, size_t size) {
  static const char digits[] = "0123456789abcdef";
  append("\"", 1);
  for (size_t i = 0; i < size; ++i) {
    unsigned char byte = ((const unsigned char *)bytes)[i];
    char two[2] = {digits[byte >> 4], digits[byte & 15]};
    append(two, 2);
  }
  append("\"", 1);
}

/* For programs that are not Python: every line also goes to the file that NULL_DRIVER_LOG names. */
static void to_file(size_t from) {
  const char *path = getenv("NULL_DRIVER_LOG");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (!file) return;
  fwrite(text + from, 1, length - from, file);
  fclose(file);
}

#define RECORD(...)                                 \
  do {                                              \
    if (!recording) break;                          \
    pthread_mutex_lock(&mutex);                     \
    size_t from_ = length;                          \
    __VA_ARGS__;                                    \
    append("\n", 1);                                \
    to_file(from_);                                 \
    pthread_mutex_unlock(&mutex);                   \
  } while (0)

/* Return the lines so far, and forget them; the caller frees. */
char *null_driver_take(void) {
  pthread_mutex_lock(&mutex);
  char *taken = text ? text : calloc(1, 1);
  text = NULL;
  length = room = 0;
  pthread_mutex_unlock(&mutex);
  return taken;
}

void null_driver_free(char *taken) { free(taken); }

/* What is to fail -------------------------------------------------------------------------------------------------- */

static struct { char call[64]; CUresult result; int after, times; } failing[16];
static int any_failing;

void null_driver_fail(const char *call, CUresult result, int after, int times) {
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < 16; ++i)
    if (failing[i].times == 0) {
      snprintf(failing[i].call, sizeof failing[i].call, "%s", call);
      failing[i].result = result, failing[i].after = after, failing[i].times = times;
      any_failing = 1;
      break;
    }
  pthread_mutex_unlock(&mutex);
}

void null_driver_fail_nothing(void) {
  memset(failing, 0, sizeof failing);
  any_failing = 0;
}

static CUresult demanded(const char *call) {
  CUresult result = SUCCESS;
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < 16 && result == SUCCESS; ++i) {
    if (failing[i].times == 0 || strcmp(failing[i].call, call) != 0) continue;
    if (failing[i].after > 0) --failing[i].after;
    else --failing[i].times, result = failing[i].result;
  }
  pthread_mutex_unlock(&mutex);
  return result;
}

#define MAY_FAIL()                              \
  do {                                          \
    CUresult demanded_ = SUCCESS;               \
    if (any_failing) demanded_ = demanded(__func__); \
    if (demanded_ != SUCCESS) return demanded_; \
  } while (0)

/* Errors ----------------------------------------------------------------------------------------------------------- */

static const struct { CUresult code; const char *name; } names[] = {
    {0, "CUDA_SUCCESS"}, {1, "CUDA_ERROR_INVALID_VALUE"}, {2, "CUDA_ERROR_OUT_OF_MEMORY"},
    {3, "CUDA_ERROR_NOT_INITIALIZED"}, {4, "CUDA_ERROR_DEINITIALIZED"}, {34, "CUDA_ERROR_STUB_LIBRARY"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"}, {100, "CUDA_ERROR_NO_DEVICE"}, {101, "CUDA_ERROR_INVALID_DEVICE"},
    {200, "CUDA_ERROR_INVALID_IMAGE"}, {201, "CUDA_ERROR_INVALID_CONTEXT"}, {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
    {218, "CUDA_ERROR_INVALID_PTX"}, {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"}, {223, "CUDA_ERROR_JIT_COMPILATION_DISABLED"},
    {300, "CUDA_ERROR_INVALID_SOURCE"}, {302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM"}, {400, "CUDA_ERROR_INVALID_HANDLE"}, {500, "CUDA_ERROR_NOT_FOUND"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS"}, {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT"}, {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED"}, {710, "CUDA_ERROR_ASSERT"},
    {714, "CUDA_ERROR_HARDWARE_STACK_ERROR"}, {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS"}, {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE"}, {718, "CUDA_ERROR_INVALID_PC"},
    {719, "CUDA_ERROR_LAUNCH_FAILED"}, {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"},
    {801, "CUDA_ERROR_NOT_SUPPORTED"}, {802, "CUDA_ERROR_SYSTEM_NOT_READY"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"}, {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"}, {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"}, {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"},
    {912, "CUDA_ERROR_INVALID_CLUSTER_SIZE"}, {999, "CUDA_ERROR_UNKNOWN"},
};

CUresult cuGetErrorName(CUresult code, const char **name) {
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (names[i].code == code) return *name = names[i].name, SUCCESS;
  return *name = NULL, INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult code, const char **meaning) {
  *meaning = "what the driver says of it";
  const char *name;
  return cuGetErrorName(code, &name);
}

/* Devices and contexts --------------------------------------------------------------------------------------------- */

#define MOST_DEVICES 64
static char contexts[MOST_DEVICES]; /* a context is the address of its device's place here */
static __thread char *current;
static __thread int capture_mode; /* global, unless exchanged */
static long memory_live, libraries_live, streams_live, events_live;
static long contexts_used; /* a bit for each device whose primary context was retained */

long null_driver_live(int what) {
  const long live[] = {memory_live, libraries_live, streams_live, events_live};
  return live[what];
}

static long current_device(void) { return current ? current - contexts : -1; }

CUresult cuInit(unsigned flags) { return flags ? INVALID_VALUE : (CUresult)setting("init"); }
CUresult cuDriverGetVersion(int *version) { return *version = (int)setting("version"), SUCCESS; }
CUresult cuDeviceGetCount(int *count) { return *count = (int)setting("devices"), SUCCESS; }
CUresult cuDeviceGet(int *device, int ordinal) { return *device = ordinal, ordinal < setting("devices") ? SUCCESS : 101; }
CUresult cuDeviceTotalMem_v2(size_t *bytes, int device) { return *bytes = (size_t)80 << 30, device < setting("devices") ? SUCCESS : 101; }

CUresult cuDeviceGetName(char *name, int size, int device) {
  snprintf(name, (size_t)size, "null device %d", device);
  return SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, int attribute, int device) {
  if (device < 0 || device >= setting("devices")) return 101;
  switch (attribute) {
    case 16: *value = 132; return SUCCESS;
    case 75: *value = (int)setting("capability") / 10; return SUCCESS;
    case 76: *value = (int)setting("capability") % 10; return SUCCESS;
    case 97: *value = (int)setting("shared_optin"); return SUCCESS;
    case 120: *value = (int)setting("cluster_launch"); return SUCCESS;
    default: return INVALID_VALUE;
  }
}

CUresult cuDevicePrimaryCtxRetain(char **context, int device) {
  MAY_FAIL();
  RECORD(say("{\"call\": \"cuDevicePrimaryCtxRetain\", \"device\": %d}", device));
  __atomic_or_fetch(&contexts_used, 1L << device, __ATOMIC_RELAXED);
  return *context = contexts + device, SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(int device) {
  RECORD(say("{\"call\": \"cuDevicePrimaryCtxRelease\", \"device\": %d}", device));
  return SUCCESS;
}

CUresult cuCtxGetCurrent(char **context) {
  MAY_FAIL();
  return *context = current, SUCCESS;
}

CUresult cuCtxSetCurrent(char *context) {
  MAY_FAIL();
  current = context;
  RECORD(say("{\"call\": \"cuCtxSetCurrent\", \"device\": %ld}", current_device()));
  return SUCCESS;
}

CUresult cuCtxSynchronize(void) {
  MAY_FAIL();
  RECORD(say("{\"call\": \"cuCtxSynchronize\", \"context\": %ld}", current_device()));
  return current ? SUCCESS : INVALID_CONTEXT;
}

CUresult cuThreadExchangeStreamCaptureMode(int *mode) {
  MAY_FAIL();
  int previous = capture_mode;
  capture_mode = *mode;
  RECORD(say("{\"call\": \"cuThreadExchangeStreamCaptureMode\", \"mode\": %d}", capture_mode));
  return *mode = previous, SUCCESS;
}

/* Code ------------------------------------------------------------------------------------------------------------- */

#define MOST_PARAMETERS 512

struct kernel {
  struct kernel *next;
  struct library *library;
  char *name;
  size_t count, offsets[MOST_PARAMETERS], sizes[MOST_PARAMETERS];
  int attributes[16];
};

struct library {
  size_t bytes;
  uint64_t hash;
  struct kernel *kernels;
};

static struct kernel *new_kernel(struct library *library, const char *name, size_t size) {
  struct kernel *kernel = calloc(1, sizeof *kernel);
  kernel->name = strndup(name, size);
  kernel->library = library;
  kernel->next = library->kernels;
  return library->kernels = kernel;
}

static size_t size_of_type(const char *type) { /* "u64": the digits, in bits; "pred" and the like do not occur */
  while (*type && (*type < '0' || *type > '9')) ++type;
  return (size_t)atoi(type) / 8;
}

/* Read `.param .align 64 .b8 name[128]`, from behind `.param`. */
static void read_parameter(struct kernel *kernel, char *declaration) {
  size_t size = 0, align = 0, offset = 0;
  for (char *word = strtok(declaration, " \t\r\n"); word; word = strtok(NULL, " \t\r\n")) {
    if (strcmp(word, ".align") == 0) {
      size_t given = (size_t)atoi(strtok(NULL, " \t\r\n"));
      if (size == 0) align = given; /* behind `.ptr` it is the pointee's */
    } else if (word[0] == '.' && size == 0 && strchr("bsuf", word[1])) {
      size = size_of_type(word);
    } else if (strchr(word, '[')) {
      size *= (size_t)atoi(strchr(word, '[') + 1);
    }
  }
  if (align == 0) align = size;
  if (kernel->count) offset = kernel->offsets[kernel->count - 1] + kernel->sizes[kernel->count - 1];
  kernel->offsets[kernel->count] = (offset + align - 1) / align * align;
  kernel->sizes[kernel->count++] = size;
}

static void read_ptx(struct library *library, const char *image) {
  for (const char *at = image; (at = strstr(at, ".entry")) != NULL;) {
    at += strlen(".entry");
    at += strspn(at, " \t\r\n");
    size_t name = strcspn(at, " \t\r\n({");
    struct kernel *kernel = new_kernel(library, at, name);
    at += name;
    at += strspn(at, " \t\r\n");
    if (*at != '(') continue;
    char *list = strndup(at + 1, strcspn(at + 1, ")")), *state = NULL;
    for (char *each = strtok_r(list, ",", &state); each; each = strtok_r(NULL, ",", &state)) {
      char *declared = strstr(each, ".param");
      if (declared) read_parameter(kernel, declared + strlen(".param"));
    }
    free(list);
  }
}

/* Read `.nv.info.NAME`: records of a format, an attribute and a size; 0x17 is KPARAM_INFO, a parameter. */
static void read_information(struct kernel *kernel, const unsigned char *at, size_t bytes) {
  for (const unsigned char *end = at + bytes; at + 4 <= end;) {
    uint16_t size;
    memcpy(&size, at + 2, 2);
    if (at[0] == 4 && at[1] == 0x17) {
      uint16_t ordinal, offset;
      uint32_t flags;
      memcpy(&ordinal, at + 8, 2);
      memcpy(&offset, at + 10, 2);
      memcpy(&flags, at + 12, 4);
      kernel->offsets[ordinal] = offset;
      kernel->sizes[ordinal] = flags >> 18;
      if (kernel->count < ordinal + 1u) kernel->count = ordinal + 1u;
    }
    at += at[0] == 4 ? 4 + size : 4;
  }
}

static void read_cubin(struct library *library, const unsigned char *image) {
  const Elf64_Ehdr *header = (const void *)image;
  const Elf64_Shdr *sections = (const void *)(image + header->e_shoff);
  const char *strings = (const char *)image + sections[header->e_shstrndx].sh_offset;
  for (int i = 0; i < header->e_shnum; ++i) {
    const char *name = strings + sections[i].sh_name;
    if (strncmp(name, ".nv.info.", 9) != 0) continue;
    struct kernel *kernel = new_kernel(library, name + 9, strlen(name + 9));
    read_information(kernel, image + sections[i].sh_offset, sections[i].sh_size);
  }
}

/* The image's size is known for text and ELF only; the hash of its first bytes tells images apart. */
static size_t image_bytes(const char *image) {
  if (memcmp(image, ELFMAG, SELFMAG) != 0) return strlen(image);
  const Elf64_Ehdr *header = (const void *)image;
  size_t sections = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
  size_t segments = header->e_phoff + (size_t)header->e_phnum * header->e_phentsize;
  return sections > segments ? sections : segments;
}

static CUresult complain(unsigned count, const int *options, void **values, const char *complaint) {
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == 5) strcpy(values[i], complaint);
  return INVALID_PTX;
}

CUresult cuLibraryLoadData(struct library **library, const void *image, int *options, void **values, unsigned count,
                           int *library_options, void **library_values, unsigned library_count) {
  (void)library_options, (void)library_values, (void)library_count;
  MAY_FAIL();
  int binary = memcmp(image, ELFMAG, SELFMAG) == 0;
  if (!binary && strstr(image, ".version") == NULL)
    return complain(count, options, values, "ptxas application ptx input, line 1; fatal   : Missing .version directive");
  struct library *made = calloc(1, sizeof *made);
  made->bytes = image_bytes(image);
  for (size_t i = 0; i < made->bytes; ++i) made->hash = made->hash * 31 + ((const unsigned char *)image)[i];
  (binary ? (void (*)(struct library *, const void *))read_cubin : (void (*)(struct library *, const void *))read_ptx)(
      made, image);
  __atomic_add_fetch(&libraries_live, 1, __ATOMIC_RELAXED);
  RECORD(say("{\"call\": \"cuLibraryLoadData\", \"bytes\": %zu, \"hash\": %lu, \"library\": %lu, \"options\": %u}",
             made->bytes, made->hash, (uintptr_t)made, count));
  return *library = made, SUCCESS;
}

CUresult cuLibraryUnload(struct library *library) {
  MAY_FAIL();
  RECORD(say("{\"call\": \"cuLibraryUnload\", \"library\": %lu}", (uintptr_t)library));
  for (struct kernel *kernel = library->kernels, *next; kernel; kernel = next) {
    next = kernel->next;
    free(kernel->name);
    free(kernel);
  }
  free(library);
  __atomic_sub_fetch(&libraries_live, 1, __ATOMIC_RELAXED);
  return SUCCESS;
}

CUresult cuLibraryGetKernel(struct kernel **kernel, struct library *library, const char *name) {
  MAY_FAIL();
  for (*kernel = library->kernels; *kernel; *kernel = (*kernel)->next)
    if (strcmp((*kernel)->name, name) == 0) return SUCCESS;
  return NOT_FOUND;
}

/* A function is its kernel: this driver runs nothing, on no device. */
CUresult cuKernelGetFunction(struct kernel **function, struct kernel *kernel) {
  MAY_FAIL();
  if (!current) return INVALID_CONTEXT;
  RECORD(say("{\"call\": \"cuKernelGetFunction\", \"entry\": \"%s\", \"context\": %ld, \"capture_mode\": %d}", kernel->name,
             current_device(), capture_mode));
  return *function = kernel, SUCCESS;
}

CUresult cuKernelGetParamInfo(struct kernel *kernel, size_t index, size_t *offset, size_t *size) {
  if (index >= kernel->count) return INVALID_VALUE;
  *offset = kernel->offsets[index];
  *size = kernel->sizes[index];
  return SUCCESS;
}

CUresult cuKernelGetAttribute(int *value, int attribute, struct kernel *kernel, int device) {
  MAY_FAIL();
  if (device < 0 || device >= setting("devices")) return 101;
  switch (attribute) {
    case 0: *value = (int)setting("max_threads"); return SUCCESS;
    case 1: *value = (int)setting("static_shared"); return SUCCESS;
    case 4: *value = (int)setting("registers"); return SUCCESS;
    case 5: case 6: *value = (int)setting("capability"); return SUCCESS;
    default: *value = attribute < 16 ? kernel->attributes[attribute] : 0; return SUCCESS;
  }
}

CUresult cuKernelSetAttribute(int attribute, int value, struct kernel *kernel, int device) {
  MAY_FAIL();
  RECORD(say("{\"call\": \"cuKernelSetAttribute\", \"entry\": \"%s\", \"attribute\": %d, \"value\": %d, \"device\": %d}",
             kernel->name, attribute, value, device));
  if (attribute < 0 || attribute >= 16) return INVALID_VALUE;
  kernel->attributes[attribute] = value;
  return SUCCESS;
}

/* Launches --------------------------------------------------------------------------------------------------------- */

struct attribute { int id; char pad[4]; unsigned char value[64]; };
struct config { unsigned grid[3], block[3], shared; void *stream; struct attribute *attributes; unsigned count; };

static void say_launch(const struct config *config, const struct kernel *kernel, void **parameters) {
  say("{\"call\": \"cuLaunchKernelEx\", \"entry\": \"%s\", \"library\": %lu, \"context\": %ld, \"thread\": %lu, ", kernel->name,
      (uintptr_t)kernel->library, current_device(), (unsigned long)pthread_self());
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

CUresult cuLaunchKernelEx(const struct config *config, struct kernel *kernel, void **parameters, void **extra) {
  MAY_FAIL();
  if (extra || !current) return current ? INVALID_VALUE : INVALID_CONTEXT;
  __atomic_add_fetch(&launches, 1, __ATOMIC_RELAXED);
  if (config->shared > 49152 && (int)config->shared > kernel->attributes[8]) return INVALID_VALUE;
  RECORD(say_launch(config, kernel, parameters));
  return SUCCESS;
}

/* Tensor maps: the address, then what was asked for -------------------------------------------------------------------- */

static CUresult put_map(unsigned char *map, uint64_t address, const char *mode, const char *arguments) {
  if ((uintptr_t)map % 64 || address % 16 || !current) return INVALID_VALUE;
  RECORD(say("{\"call\": \"%s\", \"address\": %lu, %s}", mode, address, arguments));
  uint64_t hash = 1469598103934665603u;
  for (const char *at = arguments; *at; ++at) hash = (hash ^ (unsigned char)*at) * 1099511628211u;
  for (int i = 1; i < 16; ++i) hash = hash * 6364136223846793005u + 1442695040888963407u, memcpy(map + 8 * i, &hash, 8);
  memcpy(map, &address, 8);
  return SUCCESS;
}

static char *say_list(char *to, const char *name, const void *values, int size, unsigned count) {
  to += sprintf(to, "\"%s\": [", name);
  for (unsigned i = 0; i < count; ++i) {
    long value = ((const int *)values)[i]; /* of size 0 */
    if (size == 4) value = ((const unsigned *)values)[i];
    if (size == 8) value = ((const long *)values)[i];
    to += sprintf(to, "%s%ld", i ? ", " : "", value);
  }
  return to + sprintf(to, "], ");
}

CUresult cuTensorMapEncodeTiled(unsigned char *map, int type, unsigned rank, uint64_t address, const uint64_t *shape,
                                const uint64_t *strides, const unsigned *box, const unsigned *steps, int interleave,
                                int swizzle, int promotion, int fill) {
  MAY_FAIL();
  char arguments[2048], *to = say_list(arguments, "shape", shape, 8, rank);
  to = say_list(to, "strides", strides, 8, rank - 1);
  to = say_list(to, "box", box, 4, rank);
  to = say_list(to, "element_strides", steps, 4, rank);
  sprintf(to, "\"type\": %d, \"interleave\": %d, \"swizzle\": %d, \"promotion\": %d, \"fill\": %d", type, interleave, swizzle,
          promotion, fill);
  return put_map(map, address, "cuTensorMapEncodeTiled", arguments);
}

CUresult cuTensorMapEncodeIm2col(unsigned char *map, int type, unsigned rank, uint64_t address, const uint64_t *shape,
                                 const uint64_t *strides, const int *lower, const int *upper, unsigned channels,
                                 unsigned pixels, const unsigned *steps, int interleave, int swizzle, int promotion,
                                 int fill) {
  MAY_FAIL();
  char arguments[2048], *to = say_list(arguments, "shape", shape, 8, rank);
  to = say_list(to, "strides", strides, 8, rank - 1);
  to = say_list(to, "lower", lower, 0, rank - 2);
  to = say_list(to, "upper", upper, 0, rank - 2);
  to = say_list(to, "element_strides", steps, 4, rank);
  sprintf(to, "\"channels\": %u, \"pixels\": %u, \"type\": %d, \"interleave\": %d, \"swizzle\": %d, \"promotion\": %d, \"fill\": %d",
          channels, pixels, type, interleave, swizzle, promotion, fill);
  return put_map(map, address, "cuTensorMapEncodeIm2col", arguments);
}

CUresult cuTensorMapReplaceAddress(unsigned char *map, uint64_t address) {
  MAY_FAIL();
  if ((uintptr_t)map % 64 || address % 16) return INVALID_VALUE;
  memcpy(map, &address, 8);
  return SUCCESS;
}

/* Memory and streams ----------------------------------------------------------------------------------------------- */

CUresult cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  MAY_FAIL();
  if (!current) return INVALID_CONTEXT;
  void *memory = aligned_alloc(512, (bytes + 511) / 512 * 512);
  __atomic_add_fetch(&memory_live, 1, __ATOMIC_RELAXED);
  RECORD(say("{\"call\": \"cuMemAlloc\", \"address\": %lu, \"bytes\": %zu, \"context\": %ld, \"capture_mode\": %d}",
             (uintptr_t)memory, bytes, current_device(), capture_mode));
  return *address = (uintptr_t)memory, SUCCESS;
}

CUresult cuMemFree_v2(uint64_t address) {
  MAY_FAIL();
  RECORD(say("{\"call\": \"cuMemFree\", \"address\": %lu, \"context\": %ld, \"capture_mode\": %d}", address, current_device(),
             capture_mode));
  free((void *)address);
  __atomic_sub_fetch(&memory_live, 1, __ATOMIC_RELAXED);
  return SUCCESS;
}

CUresult cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
  MAY_FAIL();
  memcpy((void *)to, from, bytes);
  RECORD(say("{\"call\": \"cuMemcpyHtoDAsync\", \"address\": %lu, \"capture_mode\": %d, \"stream\": %lu, \"bytes\": ", to,
             capture_mode, (uintptr_t)stream),
         say_bytes(from, bytes), append("}", 1));
  return SUCCESS;
}

CUresult cuStreamCreate(void **stream, unsigned flags) {
  MAY_FAIL();
  __atomic_add_fetch(&streams_live, 1, __ATOMIC_RELAXED);
  *stream = malloc(1);
  RECORD(say("{\"call\": \"cuStreamCreate\", \"flags\": %u}", flags));
  return SUCCESS;
}

CUresult cuStreamSynchronize(void *stream) {
  MAY_FAIL();
  return stream ? SUCCESS : INVALID_VALUE;
}

CUresult cuStreamDestroy_v2(void *stream) {
  __atomic_sub_fetch(&streams_live, 1, __ATOMIC_RELAXED);
  free(stream);
  return SUCCESS;
}

/* What a context has been asked to do: an event is complete unless the setting says that it is not ------------------- */

CUresult cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
  if (device < 0 || device >= setting("devices")) return 101;
  return *flags = 0, *active = contexts_used >> device & 1, SUCCESS;
}

CUresult cuStreamIsCapturing(void *stream, int *status) {
  return *status = 0, stream == (void *)1 && setting("capturing") ? 906 : SUCCESS;
}

CUresult cuEventCreate(void **event, unsigned flags) {
  MAY_FAIL();
  if (!current) return INVALID_CONTEXT;
  (void)flags;
  *event = malloc(1);
  __atomic_add_fetch(&events_live, 1, __ATOMIC_RELAXED);
  return SUCCESS;
}

CUresult cuEventDestroy_v2(void *event) {
  free(event);
  __atomic_sub_fetch(&events_live, 1, __ATOMIC_RELAXED);
  return SUCCESS;
}

CUresult cuEventQuery(void *event) {
  MAY_FAIL();
  (void)event;
  return setting("events_pending") ? 600 : SUCCESS;
}

CUresult cuCtxRecordEvent(char *context, void *event) {
  MAY_FAIL();
  RECORD(say("{\"call\": \"cuCtxRecordEvent\", \"context\": %ld, \"event\": %lu}", (long)(context - contexts), (uintptr_t)event));
  return setting("capturing") ? 900 : SUCCESS;
}

/* Its functions by name -------------------------------------------------------------------------------------------- */

/* Since which CUDA, as cuDriverGetVersion counts, a name asked for means NAME_vN; all others are as old as their name. */
static const struct { const char *symbol; int since; } versions[] = {
    {"cuCtxCreate_v3", 11040},            {"cuCtxCreate_v4", 12050},         {"cuDevicePrimaryCtxRelease_v2", 11000},
    {"cuEventElapsedTime_v2", 12080},     {"cuGetProcAddress_v2", 12000},    {"cuGraphAddDependencies_v2", 12030},
    {"cuGraphAddKernelNode_v2", 12000},   {"cuGraphAddNode_v2", 12030},      {"cuGraphExecUpdate_v2", 12000},
    {"cuGraphGetEdges_v2", 12030},        {"cuMemPrefetchAsync_v2", 12020},  {"cuStreamGetCaptureInfo_v2", 11030},
    {"cuStreamGetCaptureInfo_v3", 12030}, {"cuStreamGetCtx_v2", 12050},      {"cuStreamBeginCapture_v2", 10010},
};

static int since(const char *symbol) {
  for (size_t i = 0; i < sizeof versions / sizeof *versions; ++i)
    if (strcmp(versions[i].symbol, symbol) == 0) return versions[i].since;
  return 0;
}

/* As the driver does, answer with the newest NAME_vN that the version which is asked for knows. */
CUresult cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status) {
  (void)flags;
  MAY_FAIL();
  Dl_info self;
  if (!name || !function || !dladdr((void *)cuInit, &self)) return INVALID_VALUE;
  void *library = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  *function = NULL;
  for (int number = 4; number >= 1 && !*function; --number) {
    char symbol[256];
    snprintf(symbol, sizeof symbol, number > 1 ? "%s_v%d" : "%s", name, number);
    if (since(symbol) <= version) *function = dlsym(library, symbol);
  }
  dlclose(library);
  if (status) *status = *function ? 0 : 1; /* CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND */
  return *function ? SUCCESS : NOT_FOUND;
}
