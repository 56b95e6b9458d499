/* Tensor maps: the address and a hash of the arguments; with a callback, the bytes that it writes. */
#include "driver.h"

/* Callback that writes a map from its arguments (JSON, as in the record), or without them another address into one. */
typedef int (*map_answer)(unsigned char *map, uint64_t address, const char *mode, const char *arguments);
static map_answer on_map;
OURS void null_driver_on_map(map_answer answer) { on_map = answer; }

static CUresult put_map(unsigned char *map, uint64_t address, const char *mode, const char *arguments) {
  if ((uintptr_t)map % 64 || address % 16 || !current) return INVALID_VALUE;
  RECORD(say("{\"call\": \"%s\", \"address\": %lu, %s}", mode, address, arguments));
  if (on_map) return on_map(map, address, mode, arguments);
  uint64_t hash = 1469598103934665603u;
  for (const char *at = arguments; *at; ++at) hash = (hash ^ (unsigned char)*at) * 1099511628211u;
  for (int i = 1; i < 16; ++i) hash = hash * 6364136223846793005u + 1442695040888963407u, memcpy(map + 8 * i, &hash, 8);
  memcpy(map, &address, 8);
  return SUCCESS;
}

static char *say_list(char *to, const char *name, const void *values, int size, unsigned count) {
  to += sprintf(to, "\"%s\": [", name);
  for (unsigned i = 0; i < count; ++i) {
    long value = ((const int *)values)[i]; /* for size 0 */
    if (size == 4) value = ((const unsigned *)values)[i];
    if (size == 8) value = ((const long *)values)[i];
    to += sprintf(to, "%s%ld", i ? ", " : "", value);
  }
  return to + sprintf(to, "], ");
}

API cuTensorMapEncodeTiled(unsigned char *map, int type, unsigned rank, uint64_t address, const uint64_t *shape,
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

API cuTensorMapEncodeIm2col(unsigned char *map, int type, unsigned rank, uint64_t address, const uint64_t *shape,
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

API cuTensorMapReplaceAddress(unsigned char *map, uint64_t address) {
  MAY_FAIL();
  if ((uintptr_t)map % 64 || address % 16) return INVALID_VALUE;
  if (on_map) return on_map(map, address, "cuTensorMapReplaceAddress", NULL);
  memcpy(map, &address, 8);
  return SUCCESS;
}

