#include "kusari/framework/core/threads.h"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>

#include "kusari/framework/core/error.h"

namespace kusari {
namespace {

int threads_at_start() {
  if (const char* text = std::getenv("KUSARI_NUM_THREADS")) {
    const int n = std::atoi(text);
    if (n < 1) throw ValueError(std::string("KUSARI_NUM_THREADS: '") + text + "' is not a number of threads");
    return n;
  }
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof cores, &cores) == 0 ? std::max(1, CPU_COUNT(&cores)) : 1;
}

std::atomic<int>& setting() {
  static std::atomic<int> threads = [] {
    const int n = threads_at_start();
    omp_set_num_threads(n);
    return n;
  }();
  return threads;
}

}  // namespace

int num_threads() { return setting().load(std::memory_order_relaxed); }

void set_num_threads(int n) {
  if (n < 1) throw ValueError("set_num_threads: n is " + std::to_string(n) + " but must be at least 1");
  setting() = n;
  omp_set_num_threads(n);  // libraries that use OpenMP (oneDNN) follow
}

void detail::run_chunks(int64_t chunks, void (*body)(void* context, int64_t chunk), void* context) {
  const int threads = static_cast<int>(std::min<int64_t>(num_threads(), chunks));
  if (threads == 1 || omp_in_parallel()) {
    for (int64_t i = 0; i < chunks; ++i) body(context, i);
    return;
  }
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t i = 0; i < chunks; ++i) body(context, i);
}

}  // namespace kusari
