"""Bundles from C on streams of any context, inside captures, and from many threads."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from pyptx.bundles import export

from . import bundle_kernels
from .bundle_programs import SANITIZERS, Seen, build, run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.ptxas

FIND = """\
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "many.h"

static void *asked(const char *name)
{
    return dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
}

/* Declare a function of the driver, and find it. */
#define USE(name, arguments) \\
    int (*name) arguments;   \\
    void *name##_found = asked(#name); \\
    memcpy(&name, &name##_found, sizeof name)

static void say(const char *step, int result)
{
    printf("%s %d %s\\n", step, result, many_error(result));
}

static void tell(void)
{
    char *(*take)(void);
    void *found = asked("null_driver_take");
    memcpy(&take, &found, sizeof take);
    printf("%s", take());
}
"""

# The primary context of device 0 is current. Streams belong to created contexts of both devices, and a green context.
CONTEXTS = """
static void *stream_in(void *context)
{
    void *stream = NULL, *was = NULL;
    USE(cuCtxPushCurrent_v2, (void *));
    USE(cuCtxPopCurrent_v2, (void **));
    USE(cuStreamCreate, (void **, unsigned int));
    (void)cuCtxPushCurrent_v2(context);
    (void)cuStreamCreate(&stream, 0);
    (void)cuCtxPopCurrent_v2(&was);
    return stream;
}

static void *green_stream(void)
{
    unsigned char resource[144];
    void *description = NULL, *green = NULL, *stream = NULL;
    USE(cuDeviceGetDevResource, (int, void *, int));
    USE(cuDevResourceGenerateDesc, (void **, void *, unsigned int));
    USE(cuGreenCtxCreate, (void **, void *, int, unsigned int));
    USE(cuGreenCtxStreamCreate, (void **, void *, unsigned int, int));
    (void)cuDeviceGetDevResource(1, resource, 1);
    (void)cuDevResourceGenerateDesc(&description, resource, 1);
    (void)cuGreenCtxCreate(&green, description, 1, 1);
    (void)cuGreenCtxStreamCreate(&stream, green, 1, 0);
    return stream;
}

int main(void)
{
    void *primary = NULL, *same = NULL, *other = NULL, *was = NULL;
    many_arguments arguments = {0x7000, 0x8000, 3};
    USE(cuDevicePrimaryCtxRetain, (void **, int));
    USE(cuCtxSetCurrent, (void *));
    USE(cuCtxCreate_v2, (void **, unsigned int, int));
    USE(cuCtxPopCurrent_v2, (void **));
    USE(cuInit, (unsigned int));
    (void)cuInit(0);
    (void)cuCtxCreate_v2(&same, 0, 0);
    (void)cuCtxPopCurrent_v2(&was);
    (void)cuCtxCreate_v2(&other, 0, 1);
    (void)cuCtxPopCurrent_v2(&was);
    (void)cuDevicePrimaryCtxRetain(&primary, 0);
    (void)cuCtxSetCurrent(primary);
    say("load", many_load());
    say("same", many_launch(&arguments, (struct CUstream_st *)stream_in(same)));
    say("other", many_launch(&arguments, (struct CUstream_st *)stream_in(other)));
    say("green", many_launch(&arguments, (struct CUstream_st *)green_stream()));
    say("default", many_launch(&arguments, NULL));
    (void)cuCtxSetCurrent(other);
    say("changed", many_launch(&arguments, NULL));
    say("unload", many_unload());
    tell();
    return 0;
}
"""

# Loading and launching both happen while a stream is captured in mode 0 (global).
CAPTURE = """
int main(void)
{
    void *primary = NULL, *stream = NULL, *graph = NULL;
    many_arguments arguments = {0x7000, 0x8000, 3};
    USE(cuDevicePrimaryCtxRetain, (void **, int));
    USE(cuCtxSetCurrent, (void *));
    USE(cuStreamCreate, (void **, unsigned int));
    USE(cuStreamBeginCapture_v2, (void *, int));
    USE(cuStreamEndCapture, (void *, void **));
    USE(cuInit, (unsigned int));
    (void)cuInit(0);
    (void)cuDevicePrimaryCtxRetain(&primary, 0);
    (void)cuCtxSetCurrent(primary);
    (void)cuStreamCreate(&stream, 1);
    say("begin", cuStreamBeginCapture_v2(stream, 0));
    say("load", many_load());
    say("launch", many_launch(&arguments, (struct CUstream_st *)stream));
    say("end", cuStreamEndCapture(stream, &graph));
    tell();
    return 0;
}
"""

THREADS = """
enum { COUNT = 8, TIMES = 2000 };

static void *work(void *answer)
{
    int64_t shape[] = {8};
    int number, *result = answer;
    DLTensor x = {(void *)0x7000, {2, 0}, 1, {2, 32, 1}, NULL, NULL, 0}, y;
    many_tensors tensors = {NULL, NULL, 3};
    x.shape = shape;
    y = x;
    y.data = (void *)0x8000;
    tensors.X = &x;
    tensors.Y = &y;
    *result = many_load();
    for (number = 0; *result == 0 && number < TIMES; number++) {
        *result = many_launch_tensors(&tensors, NULL);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[COUNT];
    int results[COUNT], number;
    char name[32];
    void (*record)(int);
    long (*launches)(void);
    void *found = asked("null_driver_record");
    memcpy(&record, &found, sizeof record);
    found = asked("null_driver_launches");
    memcpy(&launches, &found, sizeof launches);
    record(0);
    for (number = 0; number < COUNT; number++) {
        (void)pthread_create(&threads[number], NULL, work, &results[number]);
    }
    for (number = 0; number < COUNT; number++) {
        (void)pthread_join(threads[number], NULL);
        (void)sprintf(name, "thread%d", number);
        say(name, results[number]);
    }
    printf("launches %ld\\n", launches());
    tell();
    return 0;
}
"""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bundle of the kernel `many` with one scalar set at launch."""
    fixed = {f"p{number}": number for number in range(1, 20)}
    return export(bundle_kernels.many, [{"N": 8, **fixed}], tmp_path_factory.mktemp("streams") / "bundle")


def ran(bundle: Path, folder: Path, text: str, *flags: str) -> Seen:
    """Compile a program in `folder` and return its output."""
    (folder / "bundle").symlink_to(bundle)
    return run(build(folder / "bundle", FIND + text, "many", *flags))


def test_a_launch_goes_to_the_context_of_its_stream_and_on_the_default_one_to_the_current(
    bundle: Path, tmp_path: Path
) -> None:
    seen = ran(bundle, tmp_path, CONTEXTS)
    assert seen.steps == dict.fromkeys(("load", "same", "other", "green", "default", "changed", "unload"), "0 success")
    assert [launch["context"] for launch in seen.all("cuLaunchKernelEx")] == [0, 1, 1, 0, 1]
    assert {launch["parameters"][2] for launch in seen.all("cuLaunchKernelEx")} == {struct.pack("<I", 3).hex()}


def test_loading_and_launching_are_possible_inside_a_capture(bundle: Path, tmp_path: Path) -> None:
    seen = ran(bundle, tmp_path, CAPTURE)
    assert seen.steps == dict.fromkeys(("begin", "load", "launch", "end"), "0 success")


@pytest.mark.parametrize("flags", [SANITIZERS, ("-fsanitize=thread", "-g")], ids=["address", "thread"])
def test_threads_load_in_turns_and_launch_at_once(bundle: Path, tmp_path: Path, flags: tuple[str, ...]) -> None:
    seen = ran(bundle, tmp_path, THREADS, *flags)
    assert seen.steps == {**{f"thread{number}": "0 success" for number in range(8)}, "launches": str(8 * 2000)}
