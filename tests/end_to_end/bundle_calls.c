/* Reads calls of the bundle `blend`, one per line, and prints the number, result and message of each; then the driver
 * calls. Lines:
 *   context D                                  make the context of device D current, or none for -1
 *   load | unload | nothing sizes | nothing tensors   the last two with a null pointer
 *   sizes M K SCHEME                           dispatch; SCHEME `-` is a null pointer
 *   tensors SCHEME ALPHA SHIFT SEED T T T T T  where a tensor is `null` or
 *                                              DATA,DEVICE,ID,NDIM,CODE,BITS,LANES,OFFSET,SHAPE,STRIDES
 * with shapes and strides such as 4:8, and `-` for a null pointer. Shape and stride arrays have exactly the listed
 * elements, whatever NDIM is.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blend.h"

enum { TENSORS = 5, LONGEST = 4096 };

static void find(void *function, const char *name)
{
    void *symbol = dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
    memcpy(function, &symbol, sizeof symbol);
}

static void make_current(int device)
{
    int (*retain)(void **, int);
    int (*set_current)(void *);
    void *context = NULL;
    find(&retain, "cuDevicePrimaryCtxRetain");
    find(&set_current, "cuCtxSetCurrent");
    if (device >= 0) {
        (void)retain(&context, device);
    }
    (void)set_current(context);
}

static const char *text_of(const char *word)
{
    return strcmp(word, "-") == 0 ? NULL : word;
}

/* Return a newly allocated array of exactly the numbers in the word. */
static int64_t *numbers_of(char *word)
{
    size_t count = 0;
    int64_t *numbers = NULL;
    if (text_of(word) == NULL) {
        return NULL;
    }
    for (; word != NULL; word = strchr(word, ':') == NULL ? NULL : strchr(word, ':') + 1) {
        numbers = realloc(numbers, ++count * sizeof *numbers);
        numbers[count - 1] = strtoll(word, NULL, 0);
    }
    return numbers;
}

static DLTensor *tensor_of(char *word)
{
    char *fields[10];
    DLTensor *tensor;
    int number;
    if (strcmp(word, "null") == 0) {
        return NULL;
    }
    for (number = 0; number < 10; number++) {
        fields[number] = word;
        word = strchr(word, ',');
        if (word != NULL) {
            *word++ = '\0';
        }
    }
    tensor = calloc(1, sizeof *tensor);
    tensor->data = (void *)(uintptr_t)strtoull(fields[0], NULL, 0);
    tensor->device.device_type = (int32_t)strtol(fields[1], NULL, 0);
    tensor->device.device_id = (int32_t)strtol(fields[2], NULL, 0);
    tensor->ndim = (int32_t)strtol(fields[3], NULL, 0);
    tensor->dtype.code = (uint8_t)strtol(fields[4], NULL, 0);
    tensor->dtype.bits = (uint8_t)strtol(fields[5], NULL, 0);
    tensor->dtype.lanes = (uint16_t)strtol(fields[6], NULL, 0);
    tensor->byte_offset = strtoull(fields[7], NULL, 0);
    tensor->shape = numbers_of(fields[8]);
    tensor->strides = numbers_of(fields[9]);
    return tensor;
}

static void release(const DLTensor *tensor)
{
    if (tensor != NULL) {
        free(tensor->shape);
        free(tensor->strides);
        free((void *)(uintptr_t)tensor);
    }
}

static int by_sizes(char **words)
{
    blend_sizes sizes;
    blend_arguments arguments = {0x1000, 0x2000, 0x3000, 0x4000, 0x5000, 1.5F, -2, 3};
    sizes.M = strtoll(words[1], NULL, 0);
    sizes.K = strtoll(words[2], NULL, 0);
    sizes.scheme = text_of(words[3]);
    return blend_dispatch(&sizes, &arguments, (struct CUstream_st *)0x5000);
}

static int by_tensors(char **words)
{
    DLTensor *made[TENSORS];
    blend_tensors tensors;
    int number, result;
    for (number = 0; number < TENSORS; number++) {
        made[number] = tensor_of(words[5 + number]);
    }
    tensors.A = made[0];
    tensors.new_ = made[1];
    tensors.flags = made[2];
    tensors.Y = made[3];
    tensors.norms = made[4];
    tensors.scheme = text_of(words[1]);
    tensors.alpha = strtof(words[2], NULL);
    tensors.shift = (short)strtol(words[3], NULL, 0);
    tensors.seed = strtoull(words[4], NULL, 0);
    result = blend_launch_tensors(&tensors, (struct CUstream_st *)0x6000);
    for (number = 0; number < TENSORS; number++) {
        release(made[number]);
    }
    return result;
}

static int obey(char **words)
{
    if (strcmp(words[0], "context") == 0) {
        make_current((int)strtol(words[1], NULL, 0));
        return 0;
    }
    if (strcmp(words[0], "load") == 0 || strcmp(words[0], "unload") == 0) {
        return words[0][0] == 'l' ? blend_load() : blend_unload();
    }
    if (strcmp(words[0], "nothing") == 0) {
        return words[1][0] == 's' ? blend_dispatch(NULL, NULL, NULL) : blend_launch_tensors(NULL, NULL);
    }
    return strcmp(words[0], "sizes") == 0 ? by_sizes(words) : by_tensors(words);
}

int main(void)
{
    static char line[LONGEST];
    char *(*take)(void);
    int number, result;
    for (number = 0; fgets(line, LONGEST, stdin) != NULL; number++) {
        char *words[16] = {NULL};
        size_t count = 0;
        char *word = strtok(line, " \n");
        for (; word != NULL && count < 16; word = strtok(NULL, " \n")) {
            words[count++] = word;
        }
        result = obey(words);
        printf("%d %d %s\n", number, result, blend_error(result));
    }
    find(&take, "null_driver_take");
    printf("%s", take());
    return 0;
}
