/* flashfit in processes unlike others: odd_process LIBRARY MODE [ARGUMENT]. Prints what it saw; 0 if nothing was wrong.
 * The library is opened, not linked, as packages for other languages do. odd_process_test.py says what is expected. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): the C library's name */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "flashfit/flashfit.h"

typedef struct {
  void* handle;
  flashfit_status (*forward)(const flashfit_attention_args*);
  flashfit_status (*explain)(const flashfit_explain_args*, char**);
  flashfit_status (*gpus)(char**);
  const char* (*error)(void);
  void (*release)(char*);
} Library;

static void end(const char* why) {
  fprintf(stderr, "%s\n", why);
  _exit(3);
}

static Library with_functions(void* handle) {
  if (!handle) end(dlerror());
  Library l = {.handle = handle};
  *(void**)&l.forward = dlsym(handle, "flashfit_attention_forward");
  *(void**)&l.explain = dlsym(handle, "flashfit_explain_json");
  *(void**)&l.gpus = dlsym(handle, "flashfit_gpus_json");
  *(void**)&l.error = dlsym(handle, "flashfit_last_error");
  *(void**)&l.release = dlsym(handle, "flashfit_free");
  return l;
}

/* A call with values of 1, whose result is 1; fp32 on the CPU, fp16 on GPU 0. The status, or -1 for a wrong result. */
static int call(const Library* l, int on_gpu) {
  _Alignas(64) float q[4 * 64], out[4 * 64];
  for (int i = 0; i < 4 * 64; ++i) q[i] = 1, out[i] = 0;
  int64_t shape[4] = {1, 4, 1, 64};
  const DLDataType type = {kDLFloat, (uint8_t)(on_gpu ? 16 : 32), 1};
  const DLTensor in = {q, {on_gpu ? kDLCUDA : kDLCPU, 0}, 4, type, shape, NULL, 0};
  DLTensor to = in;
  to.data = out;
  flashfit_attention_args args = {.struct_size = sizeof args, .q = &in, .k = &in, .v = &in, .out = &to};
  const int status = l->forward(&args);
  if (status || on_gpu) return status;
  for (int i = 0; i < 4 * 64; ++i)
    if (out[i] < 0.999f || out[i] > 1.001f) return -1;
  return 0;
}

static void must(const Library* l, int on_gpu) {
  const int status = call(l, on_gpu);
  if (status) end(status < 0 ? "a wrong result" : l->error());
}

static long resident_kb(void) {
  long pages = 0, size = 0;
  FILE* f = fopen("/proc/self/statm", "r");
  if (!f || fscanf(f, "%ld %ld", &size, &pages) != 2) end("no /proc/self/statm");
  fclose(f);
  return pages * sysconf(_SC_PAGESIZE) / 1024;
}

typedef struct {
  const Library* library;
  int on_gpu;
  int calls; /* 0: for ever */
} Work;

static void* work(void* opaque) {
  const Work* w = opaque;
  for (int i = 0; !w->calls || i < w->calls; ++i) must(w->library, w->on_gpu);
  return NULL;
}

static void in_thread(Work* w, size_t stack) {
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (stack && pthread_attr_setstacksize(&attributes, stack)) end("no such stack");
  if (pthread_create(&thread, &attributes, work, w)) end("no thread");
  pthread_attr_destroy(&attributes);
  pthread_join(thread, NULL);
}

/* Every n-th part of the calls alike; prints how many KB the later ones added. */
static void many(const Library* l, int on_gpu, int calls) {
  for (int i = 0; i < calls / 10; ++i) must(l, on_gpu);
  const long before = resident_kb();
  for (int i = calls / 10; i < calls; ++i) must(l, on_gpu);
  printf("grew %ld KB\n", resident_kb() - before);
}

static void reload(const char* path, int times) {
  long before = 0;
  for (int i = 0; i < times; ++i) {
    const Library l = with_functions(dlopen(path, RTLD_NOW | RTLD_LOCAL));
    Work w = {&l, 0, 1};
    if (i % 50 == 0) in_thread(&w, 0);
    must(&l, 0);
    if (dlclose(l.handle)) end("dlclose");
    if (i == times / 10) before = resident_kb();
  }
  printf("grew %ld KB\n", resident_kb() - before);
}

static void close_under_threads(const char* path) {
  static Library l; /* the threads outlive this function */
  static Work forever = {&l, 0, 0};
  l = with_functions(dlopen(path, RTLD_NOW | RTLD_LOCAL));
  pthread_t thread;
  for (int i = 0; i < 4; ++i)
    if (pthread_create(&thread, NULL, work, &forever)) end("no thread");
  for (int i = 0; i < 200; ++i) {
    usleep(500);
    if (i % 2 ? !dlopen(path, RTLD_NOW | RTLD_LOCAL) : dlclose(l.handle)) end("reopened or closed under threads");
  }
}

/* A child after the parent used CPU and, if asked, GPU: the child's GPU call says why not, its CPU call works. */
static void forked(const Library* l, int parent_on_gpu) {
  must(l, 0);
  if (parent_on_gpu) must(l, 1);
  const pid_t child = fork();
  if (child == 0) {
    must(l, 0);
    printf("%d %s\n", call(l, 1), l->error());
    fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status) end("the child died");
  must(l, 0);
  if (parent_on_gpu) must(l, 1);
}

static void copies(const char* one, const char* two) {
  const Library a = with_functions(dlopen(one, RTLD_NOW | RTLD_GLOBAL)),
                b = with_functions(dlopen(two, RTLD_NOW | RTLD_LOCAL)),
                c = with_functions(dlmopen(LM_ID_NEWLM, one, RTLD_NOW));
  if (a.forward == b.forward || a.forward == c.forward) end("one library, not three");
  flashfit_attention_args none = {.struct_size = 7};
  if (a.forward(&none) != FLASHFIT_INVALID_ARGUMENT || *b.error() || *c.error()) end("copies share a message");
  const Library* all[] = {&a, &b, &c};
  for (int i = 0; i < 3; ++i) must(all[i], 0);
  for (int i = 0; i < 2; ++i) must(all[i], 1); /* the driver is the process's: a namespace of its own has no second */
}

/* What a caller does in its life, errors and documents included, on threads that come and go. */
static void life(const Library* l, int on_gpu) {
  Work cpu = {l, 0, 3}, gpu = {l, on_gpu, 3};
  for (int i = 0; i < 8; ++i) in_thread(&cpu, 0), in_thread(&gpu, 0);
  flashfit_attention_args wrong = {.struct_size = 7};
  if (l->forward(&wrong) != FLASHFIT_INVALID_ARGUMENT) end("accepted");
  const flashfit_explain_args question = {.struct_size = sizeof question,
                                          .gpu = "all",
                                          .dtype = "fp16",
                                          .batch = 1,
                                          .seqlen_q = 512,
                                          .seqlen_k = 512,
                                          .heads_q = 8,
                                          .heads_kv = 8,
                                          .head_dim = 64};
  char* json = NULL;
  if (l->explain(&question, &json)) end(l->error());
  l->release(json);
  if (l->gpus(&json)) end(l->error());
  l->release(json);
}

static int flags_of(const char* name) {
  if (!strcmp(name, "global-deepbind")) return RTLD_NOW | RTLD_GLOBAL | RTLD_DEEPBIND;
  return strcmp(name, "lazy-global") ? RTLD_NOW | RTLD_LOCAL : RTLD_LAZY | RTLD_GLOBAL;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char *path = argv[1], *mode = argv[2], *argument = argc > 3 ? argv[3] : "";
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (!strcmp(mode, "reload")) return reload(path, atoi(argument)), 0;
  if (!strcmp(mode, "close-under-threads")) return close_under_threads(path), 0;
  if (!strcmp(mode, "copies")) return copies(path, argument), puts("right"), 0;
  const Library l = with_functions(dlopen(path, flags_of(argument)));
  if (!strcmp(mode, "open")) return must(&l, 0), puts("right"), 0;
  if (!strcmp(mode, "gpu")) return printf("%d %s\n", call(&l, 1), l.error()), must(&l, 0), 0;
  if (!strcmp(mode, "many-cpu")) return many(&l, 0, atoi(argument)), 0;
  if (!strcmp(mode, "many-gpu")) return many(&l, 1, atoi(argument)), 0;
  if (!strcmp(mode, "fork")) return forked(&l, !strcmp(argument, "gpu")), 0;
  if (!strcmp(mode, "life")) return life(&l, strcmp(argument, "cpu")), puts("right"), 0;
  if (!strcmp(mode, "stack")) {
    Work cpu = {&l, 0, 2}, gpu = {&l, 1, 2};
    return in_thread(&cpu, (size_t)atoi(argument)), in_thread(&gpu, (size_t)atoi(argument)), puts("right"), 0;
  }
  if (!strcmp(mode, "exit")) { /* static destructors and exit handlers run while four threads call */
    static Library kept;
    static Work forever[2] = {{&kept, 0, 0}, {&kept, 1, 0}};
    kept = l;
    pthread_t thread;
    for (int i = 0; i < 4; ++i)
      if (pthread_create(&thread, NULL, work, &forever[i % 2])) end("no thread");
    usleep(20000);
    exit(0);
  }
  return 2;
}
