/* Code: images, their parsed text and headers, libraries, kernels, modules and functions. */
#include "driver.h"

#include <elf.h>

static struct kernel *new_kernel(struct library *library, const char *name, size_t size) {
  struct kernel *kernel = calloc(1, sizeof *kernel);
  kernel->tag = KERNEL;
  kernel->name = strndup(name, size);
  kernel->library = library;
  kernel->next = library->kernels;
  return library->kernels = kernel;
}

static size_t size_of_type(const char *type) { /* "u64": the digits are the width in bits; pred does not occur */
  while (*type && (*type < '0' || *type > '9')) ++type;
  return (size_t)atoi(type) / 8;
}

/* Parse `.param .align 64 .b8 name[128]`, after `.param`. */
static void read_parameter(struct kernel *kernel, char *declaration) {
  size_t size = 0, align = 0, offset = 0;
  for (char *word = strtok(declaration, " \t\r\n"); word; word = strtok(NULL, " \t\r\n")) {
    if (strcmp(word, ".align") == 0) {
      size_t given = (size_t)atoi(strtok(NULL, " \t\r\n"));
      if (size == 0) align = given; /* after `.ptr` it is the pointee's alignment */
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

/* Multiply the numbers up to the end of a directive: `.maxntid 128, 1, 1`, `[4][8]`. */
static long product(const char *at, const char *end) {
  long total = 1;
  while (at < end && *at != '\n') {
    char *behind;
    long number = strtol(at, &behind, 10);
    if (behind == at) ++at;
    else total *= number, at = behind;
  }
  return total;
}

/* Return the bytes that a body declares in a space, `.local .align 16 .b8 room[16384];` */
static long declared(const char *at, const char *end, const char *space) {
  long total = 0;
  while ((at = strstr(at, space)) != NULL && at < end) {
    int begins = strchr(" \t\n{;", at[-1]) != NULL;
    at += strlen(space);
    if (!begins || !strchr(" \t", *at)) continue;
    const char *stop = at + strcspn(at, ";"), *type = at, *extents = at + strcspn(at, "[;");
    for (const char *word = at; (word = memchr(word, '.', (size_t)(stop - word))) != NULL; ++word)
      if (strchr("bsuf", word[1])) type = word;
    total += (long)size_of_type(type) * product(extents, stop);
  }
  return total;
}

static const char *end_of_body(const char *at) {
  int depth = 0;
  for (; *at; ++at) {
    depth += *at == '{' ? 1 : *at == '}' ? -1 : 0;
    if (depth == 0) break;
  }
  return at;
}

/* Parse the text after the parameters: directives, then the body. */
static void read_body(struct kernel *kernel, const char *at) {
  const char *body = at + strcspn(at, "{"), *end = end_of_body(body), *limit;
  if ((limit = strstr(at, ".maxntid")) != NULL && limit < body) kernel->threads = product(limit, body);
  if ((limit = strstr(at, ".reqntid")) != NULL && limit < body) kernel->threads = product(limit, body);
  kernel->local = declared(body, end, ".local");
  kernel->shared = declared(body, end, ".shared");
}

static void read_ptx(struct library *library, const char *image) {
  for (const char *at = image; (at = strstr(at, ".entry")) != NULL;) {
    at += strlen(".entry");
    at += strspn(at, " \t\r\n");
    size_t name = strcspn(at, " \t\r\n({");
    struct kernel *kernel = new_kernel(library, at, name);
    at += name;
    at += strspn(at, " \t\r\n");
    if (*at == '(') {
      char *list = strndup(at + 1, strcspn(at + 1, ")")), *place = NULL;
      at += 1 + strlen(list);
      for (char *each = strtok_r(list, ",", &place); each; each = strtok_r(NULL, ",", &place)) {
        char *parameter = strstr(each, ".param");
        if (parameter) read_parameter(kernel, parameter + strlen(".param"));
      }
      free(list);
    }
    read_body(kernel, at);
  }
}

/* Parse `.nv.info.NAME`: records of a format, an attribute and a size; 0x17 is KPARAM_INFO, a parameter. */
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

/* Return 90 for sm_90: the second byte of the header's flags since ABI version 8, the first byte before. */
static int target_of(uint32_t flags, unsigned char abi) { return (int)(abi >= 8 ? flags >> 8 & 0xff : flags & 0xff); }

static void read_cubin(struct library *library, const unsigned char *image) {
  const Elf64_Ehdr *header = (const void *)image;
  const Elf64_Shdr *sections = (const void *)(image + header->e_shoff);
  library->target = target_of(header->e_flags, header->e_ident[EI_ABIVERSION]);
  const char *strings = (const char *)image + sections[header->e_shstrndx].sh_offset;
  for (int i = 0; i < header->e_shnum; ++i) {
    const char *name = strings + sections[i].sh_name;
    if (strncmp(name, ".nv.info.", 9) != 0) continue;
    struct kernel *kernel = new_kernel(library, name + 9, strlen(name + 9));
    read_information(kernel, image + sections[i].sh_offset, sections[i].sh_size);
  }
}

/* Return the size of an image, text or ELF; a hash of the first bytes identifies images. */
static size_t image_bytes(const char *image) {
  if (memcmp(image, ELFMAG, SELFMAG) != 0) return strlen(image);
  const Elf64_Ehdr *header = (const void *)image;
  size_t sections = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
  size_t segments = header->e_phoff + (size_t)header->e_phnum * header->e_phentsize;
  return sections > segments ? sections : segments;
}

/* CU_JIT_ERROR_LOG_BUFFER is 5, and 6 its size. */
static size_t length_of(unsigned count, const int *options, void **values) {
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == 6) return (size_t)(uintptr_t)values[i];
  return 0;
}

static CUresult complain(unsigned count, const int *options, void **values, const char *complaint) {
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == 5) snprintf(values[i], length_of(count, options, values), "%s", complaint);
  return INVALID_PTX;
}

/* Callback that compiles PTX or checks a cubin, if set by null_driver.py: it returns an error code and may write a log. */
typedef int (*load_answer)(const char *image, size_t bytes, char *log, size_t log_bytes);
static load_answer on_load;
OURS void null_driver_on_load(load_answer answer) { on_load = answer; }

static CUresult compiled(const char *image, size_t bytes, unsigned count, const int *options, void **values) {
  char log[4096] = "";
  CUresult result = on_load ? on_load(image, bytes, log, sizeof log) : SUCCESS;
  if (result != SUCCESS) complain(count, options, values, log);
  return result;
}

static CUresult load(struct library **library, const void *image, const int *options, void **values, unsigned count) {
  PASS_ON(allowed_in_capture());
  int binary = memcmp(image, ELFMAG, SELFMAG) == 0;
  if (!binary && strstr(image, ".version") == NULL)
    return complain(count, options, values, "ptxas application ptx input, line 1; fatal   : Missing .version directive");
  size_t bytes = image_bytes(image);
  PASS_ON(compiled(image, bytes, count, options, values));
  struct library *made = calloc(1, sizeof *made);
  made->bytes = bytes;
  made->image = malloc(bytes + 1);
  memcpy(made->image, image, bytes);
  made->image[bytes] = '\0';
  for (size_t i = 0; i < bytes; ++i) made->hash = made->hash * 31 + (unsigned char)made->image[i];
  if (binary) read_cubin(made, (const unsigned char *)made->image);
  else read_ptx(made, made->image);
  COUNT(libraries_live, 1);
  return *library = made, SUCCESS;
}

/* Free an unloaded library when no queued launch will run its code. */
void release_library(struct library *library) {
  if (!library->unloaded || library->waiting) return;
  for (struct kernel *kernel = library->kernels, *next; kernel; kernel = next) {
    next = kernel->next;
    for (struct function *function = kernel->functions, *other; function; function = other) {
      other = function->next;
      free(function);
    }
    free(kernel->name);
    free(kernel);
  }
  free(library->image);
  free(library);
}

static void unload(struct library *library) {
  COUNT(libraries_live, -1);
  pthread_mutex_lock(&state);
  library->unloaded = 1;
  release_library(library);
  pthread_mutex_unlock(&state);
}

/* Libraries, independent of contexts --------------------------------------------------------------------------------- */

API cuLibraryLoadData(struct library **library, const void *image, int *options, void **values, unsigned count,
                      int *library_options, void **library_values, unsigned library_count) {
  (void)library_options, (void)library_values, (void)library_count;
  MAY_FAIL();
  PASS_ON(load(library, image, options, values, count));
  RECORD(say("{\"call\": \"cuLibraryLoadData\", \"bytes\": %zu, \"hash\": %lu, \"library\": %lu, \"options\": %u}",
             (*library)->bytes, (*library)->hash, (uintptr_t)*library, count));
  return SUCCESS;
}

API cuLibraryUnload(struct library *library) {
  MAY_FAIL();
  PASS_ON(allowed_in_capture());
  RECORD(say("{\"call\": \"cuLibraryUnload\", \"library\": %lu}", (uintptr_t)library));
  return unload(library), SUCCESS;
}

API cuLibraryGetKernel(struct kernel **kernel, struct library *library, const char *name) {
  MAY_FAIL();
  for (*kernel = library->kernels; *kernel; *kernel = (*kernel)->next)
    if (strcmp((*kernel)->name, name) == 0) return SUCCESS;
  return NOT_FOUND;
}

/* Find or create a kernel's function in a context. With a launch callback, a cubin runs only on devices of its major
 * version with its minor version or a later one. */
static CUresult function_in(struct function **function, struct kernel *kernel, struct context *context) {
  int target = kernel->library->target, capability = (int)setting("capability");
  if (on_launch && target && (target / 10 != capability / 10 || target > capability)) return NO_BINARY_FOR_GPU;
  pthread_mutex_lock(&state);
  struct function *found = kernel->functions;
  while (found && found->context != context) found = found->next;
  if (!found) {
    found = calloc(1, sizeof *found);
    found->tag = FUNCTION, found->kernel = kernel, found->context = context;
    found->next = kernel->functions, kernel->functions = found;
  }
  pthread_mutex_unlock(&state);
  return *function = found, SUCCESS;
}

API cuKernelGetFunction(struct function **function, struct kernel *kernel) {
  MAY_FAIL();
  PASS_ON(usable(current));
  RECORD(say("{\"call\": \"cuKernelGetFunction\", \"entry\": \"%s\", \"context\": %ld, \"capture_mode\": %d}", kernel->name,
             current_device(), capture_mode));
  return function_in(function, kernel, current);
}

API cuKernelGetName(const char **name, struct kernel *kernel) { return *name = kernel->name, SUCCESS; }

API cuKernelGetLibrary(struct library **library, struct kernel *kernel) { return *library = kernel->library, SUCCESS; }

API cuKernelGetParamInfo(struct kernel *kernel, size_t index, size_t *offset, size_t *size) {
  PASS_ON(usable(current));  // the driver loads the code for this, which needs a context
  if (index >= kernel->count) return INVALID_VALUE;
  *offset = kernel->offsets[index];
  *size = kernel->sizes[index];
  return SUCCESS;
}

static long larger(long one, long other) { return one > other ? one : other; }

API cuKernelGetAttribute(int *value, int attribute, struct kernel *kernel, int device) {
  MAY_FAIL();
  if (device < 0 || device >= setting("devices")) return INVALID_DEVICE;
  switch (attribute) {
    case 0: *value = (int)(kernel->threads ? kernel->threads : setting("max_threads")); return SUCCESS;
    case 1: *value = (int)larger(kernel->shared, setting("static_shared")); return SUCCESS;
    case 3: *value = (int)kernel->local; return SUCCESS;
    case 4: *value = (int)setting("registers"); return SUCCESS;
    case 5: case 6: *value = (int)setting("capability"); return SUCCESS;
    default: *value = attribute < ATTRIBUTES ? kernel->attributes[attribute] : 0; return SUCCESS;
  }
}

API cuKernelSetAttribute(int attribute, int value, struct kernel *kernel, int device) {
  MAY_FAIL();
  RECORD(say("{\"call\": \"cuKernelSetAttribute\", \"entry\": \"%s\", \"attribute\": %d, \"value\": %d, \"device\": %d}",
             kernel->name, attribute, value, device));
  if (attribute < 0 || attribute >= ATTRIBUTES) return INVALID_VALUE;
  kernel->attributes[attribute] = value;
  return SUCCESS;
}

/* Modules of the current context, implemented as libraries ----------------------------------------------------------- */

API cuModuleLoadDataEx(struct library **module, const void *image, unsigned count, int *options, void **values) {
  MAY_FAIL();
  PASS_ON(usable(current));
  return load(module, image, options, values, count);
}

API cuModuleLoadData(struct library **module, const void *image) {
  return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

API cuModuleUnload(struct library *module) {
  MAY_FAIL();
  PASS_ON(allowed_in_capture());
  return unload(module), SUCCESS;
}

API cuModuleGetFunction(struct function **function, struct library *module, const char *name) {
  MAY_FAIL();
  PASS_ON(usable(current));
  struct kernel *kernel;
  PASS_ON(cuLibraryGetKernel(&kernel, module, name));
  return function_in(function, kernel, current);
}

API cuModuleGetLoadingMode(int *mode) { return *mode = 1, SUCCESS; } /* eager */

API cuFuncGetAttribute(int *value, int attribute, void *function) {
  struct context *bound;
  struct kernel *kernel = kernel_of(function, &bound);
  if (!kernel) return INVALID_HANDLE;
  return cuKernelGetAttribute(value, attribute, kernel, bound ? bound->device : (int)larger(current_device(), 0));
}

API cuFuncSetAttribute(void *function, int attribute, int value) {
  struct context *bound;
  struct kernel *kernel = kernel_of(function, &bound);
  if (!kernel) return INVALID_HANDLE;
  return cuKernelSetAttribute(attribute, value, kernel, bound ? bound->device : (int)larger(current_device(), 0));
}

API cuFuncGetName(const char **name, void *function) {
  struct context *bound;
  struct kernel *kernel = kernel_of(function, &bound);
  return kernel ? (*name = kernel->name, SUCCESS) : INVALID_HANDLE;
}

API cuFuncGetParamInfo(void *function, size_t index, size_t *offset, size_t *size) {
  struct context *bound;
  struct kernel *kernel = kernel_of(function, &bound);
  return kernel ? cuKernelGetParamInfo(kernel, index, offset, size) : INVALID_HANDLE;
}
