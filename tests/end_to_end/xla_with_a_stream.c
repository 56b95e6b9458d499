// Handler for XLA's CPU runtime that provides a stream: it calls the GPU handler as XLA does on a GPU, with a fixed
// stream handle. Nothing else is added between XLA and the handler.
#include <stddef.h>

#include "xla/ffi/api/c_api.h"

static XLA_FFI_Handler* wrapped;
static void* stream;

static XLA_FFI_Error* get_stream(XLA_FFI_Stream_Get_Args* args) {
  args->stream = stream;
  return NULL;
}

void wrap(XLA_FFI_Handler* handler, void* pretended) {
  wrapped = handler;
  stream = pretended;
}

XLA_FFI_Error* execute(XLA_FFI_CallFrame* frame) {
  static _Thread_local XLA_FFI_Api api; /* copied once: not part of the measured call */
  XLA_FFI_CallFrame own = *frame;
  if (api.XLA_FFI_Stream_Get != get_stream) {
    api = *frame->api;
    api.XLA_FFI_Stream_Get = get_stream;
  }
  own.api = &api;
  return wrapped(&own);
}

/* Do nothing, except answer XLA's query of handler metadata at registration. */
XLA_FFI_Error* nothing(XLA_FFI_CallFrame* frame) { return frame->extension_start != NULL ? wrapped(frame) : NULL; }
