// A program that is not linked with the library and loads it while it runs: `host LIBRARY` asks it for its threads,
// `host LIBRARY PLUGIN` computes with a plugin that needs it.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>

namespace {

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(1);
}

void* opened(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail(dlerror());
  return library;
}

template <class Function>
Function* found(void* library, const char* name) {
  void* const symbol = dlsym(library, name);
  if (symbol == nullptr) fail(dlerror());
  return reinterpret_cast<Function*>(symbol);
}

void ask(const char* path) {
  void* const library = opened(path);
  if (found<int()>(library, "_ZN6kusari11num_threadsEv")() < 1) fail("num_threads() is below 1");
  dlclose(library);
}

/// Threads that were there before the library; each runs a task and ends only when it is let go.
class Early {
 public:
  explicit Early(int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this] {
        while (stage_.load() < 1) std::this_thread::yield();
        task_();
        ++done_;
        while (stage_.load() < 2) std::this_thread::yield();
      });
    }
  }
  void run(std::function<void()> task) {
    task_ = std::move(task);
    stage_ = 1;
    while (done_.load() < static_cast<int>(threads_.size())) std::this_thread::yield();
  }
  void end() {
    stage_ = 2;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::vector<std::thread> threads_;
  std::function<void()> task_;
  std::atomic<int> stage_{0}, done_{0};
};

void compute_with(const char* path, int threads) {
  Early early(4);
  void* const plugin = opened(path);
  auto* const compute = found<int(int)>(plugin, "kusari_plugin_compute");
  if (compute(0) != 0) fail("the caller's thread got other numbers");
  std::atomic<int> wrong{0};
  early.run([&] { wrong += compute(0); });
  if (wrong != 0) fail("threads that were there before got other numbers");
  if (compute(threads) != 0) fail("threads that were started later got other numbers");
  dlclose(plugin);
  early.end();  // after what they used was closed
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) fail("usage: host LIBRARY [PLUGIN]");
  for (int time = 0; time < 2; ++time) {
    ask(argv[1]);
    if (argc > 2) compute_with(argv[2], time == 0 ? 256 : 16);
  }
  std::puts("loaded twice");
}
