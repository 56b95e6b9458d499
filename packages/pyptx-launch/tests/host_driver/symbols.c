/* The driver's functions by name, for programs that do not link it. */
#include "driver.h"

#include <dlfcn.h>

/* Versions of functions -------------------------------------------------------------------------------------------- */

/* First CUDA version (as in cuDriverGetVersion) for which NAME means NAME_vN; others have always existed. */
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

/* Return the newest NAME_vN of the requested version, like the driver. */
API cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status) {
  (void)flags;
  MAY_FAIL();
  Dl_info self;
  if (!name || !function || !dladdr((void *)cuGetProcAddress_v2, &self)) return INVALID_VALUE;
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
