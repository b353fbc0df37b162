#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <typeinfo>

#include <doctest/doctest.h>

#include "draw.h"

#if defined(__SANITIZE_ADDRESS__)
// AddressSanitizer's own end the process where they are refused memory.
void* operator new(size_t bytes) {
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new[](size_t bytes) { return operator new(bytes); }
#endif

// Each public function, method and link with drawn arguments, right and wrong: whatever is drawn, a call returns or
// throws one of Kusari's errors, soon and within the memory that it may use. What arrays with gaps give is what the
// same numbers give without.
//
// KUSARI_DRAWN_CALLS=100000   how many calls
// KUSARI_DRAWN_SEED=1         which
// KUSARI_DRAWN_CALL=1234      that one alone, in this process, for a debugger
// KUSARI_DRAWN_FIRST=1000     calls from there on
// KUSARI_DRAWN_ONLY=F::pad    only calls whose name contains that
// KUSARI_DRAWN_TABLE=1        how many calls of each were accepted
namespace kusari::misuse_drawn {
namespace {

constexpr int kForeign = 77;         // exit status: an exception that is not Kusari's
constexpr double kMostSeconds = 5;   // of a call
constexpr double kMostWaiting = 30;  // of a call that computes nothing, on a machine with other work
// A call may take its time over views of so many elements, and over so many bytes of results.
constexpr int64_t kMuchWork = int64_t{1} << 28;
constexpr int64_t kMuchMemory = int64_t{1} << 28;
constexpr int64_t kFew = int64_t{1} << 16;  // elements of calls that are made twice
constexpr size_t kMostEntries = 2000;
constexpr int64_t kBatch = 400;  // calls of one process
constexpr size_t kGuard = size_t{1} << 30;
constexpr rlim_t kMemory = rlim_t{2} << 30;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;  // address space is no measure
#else
constexpr bool kIsSanitized = false;
#endif

/// In memory that the processes share.
struct Shared {
  std::atomic<int64_t> call;
  std::atomic<double> wall_begin, cpu_begin;
  std::atomic<bool> is_calling;
  Progress progress;
  char message[2048];
  int64_t returned[kMostEntries], refused[kMostEntries];
};

double seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

int64_t number(const char* variable, int64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoll(text, nullptr, 10);
}

/// The entries that are drawn from, rare ones once and others often.
std::vector<size_t> chosen_entries() {
  const char* const only = std::getenv("KUSARI_DRAWN_ONLY");
  std::vector<size_t> chosen;
  for (size_t i = 0; i < entries().size(); ++i) {
    if (only != nullptr && std::strstr(entries()[i].name, only) == nullptr) continue;
    chosen.insert(chosen.end(), entries()[i].is_rare && only == nullptr ? 1 : 20, i);
  }
  return chosen;
}

/// Calls whose results may differ: they draw numbers, in the order of memory, or tell how memory is laid out, or divide
/// by eigenvalues that are rounding alone where there are fewer examples than channels, or multiply many numbers, of
/// which the first overflow in one order and not in another.
bool depends_on_layout(std::string_view call) {
  for (const std::string_view part : {"dropout", "empty", "strid", "contiguous", "layout", "decorrelated", "::prod("}) {
    if (call.find(part) != std::string_view::npos) return true;
  }
  return false;
}

/// What differs; "" where nothing does but rounding.
std::string difference(const std::vector<ReadArray>& found, const std::vector<ReadArray>& expected) {
  if (found.size() != expected.size()) {
    return std::to_string(found.size()) + " results instead of " + std::to_string(expected.size());
  }
  for (size_t i = 0; i < found.size(); ++i) {
    const ReadArray &a = found[i], &b = expected[i];
    const std::string which = "result " + std::to_string(i);
    if (a.shape != b.shape) return which + " has shape " + to_string(a.shape) + " instead of " + to_string(b.shape);
    if (a.dtype != b.dtype) return which + " has dtype " + name(a.dtype) + " instead of " + name(b.dtype);
    double largest = 0.1;  // what sums cancel to is no measure
    for (const double value : b.values) largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
    const double allowed = largest * (a.dtype == Dtype::float64 ? 1e-7 : a.dtype == Dtype::float32 ? 1e-3 : 5e-2);
    for (size_t k = 0; k < a.values.size(); ++k) {
      const double x = a.values[k], y = b.values[k];
      if (x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= allowed) continue;
      return which + " has " + std::to_string(x) + " instead of " + std::to_string(y) + " at " + std::to_string(k);
    }
  }
  return "";
}

struct Calls {
  int64_t seed = number("KUSARI_DRAWN_SEED", 1);
  std::vector<size_t> chosen = chosen_entries();

  uint64_t seed_of(int64_t call) const {
    return Random(static_cast<uint64_t>(seed) * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(call)).bits();
  }
  size_t entry_of(int64_t call) const { return chosen[Random(seed_of(call) + 1).below(chosen.size())]; }

  /// Returns whether the call was accepted; throws what is not an error of Kusari's.
  bool run(int64_t call, Progress& progress) const {
    const Entry& entry = entries()[entry_of(call)];
    progress.clear();
    random::seed(static_cast<uint64_t>(call));
    const auto train = using_config(&Config::train, Random(seed_of(call) + 2).chance(0.8));
    try {
      Draw draw(entry.name, seed_of(call), progress);
      entry.call(draw);
      if (draw.has_gaps() && progress.elements < kFew && !depends_on_layout(entry.name)) {
        random::seed(static_cast<uint64_t>(call));
        Draw dense(entry.name, seed_of(call), progress, Layouts::dense);
        try {
          entry.call(dense);
        } catch (const OutOfMemoryError&) {  // a view that repeats few elements needed none
          return true;
        } catch (const Error& error) {
          throw std::runtime_error(std::string("refused of dense arrays alone: ") + error.what());
        }
        const std::string found = difference(draw.results(), dense.results());
        if (!found.empty()) throw std::runtime_error("other results than of dense arrays: " + found);
      }
      return true;
    } catch (const Error& error) {
      if (typeid(error) == typeid(Error) || std::string(error.what()).empty()) throw;
      if (std::getenv("KUSARI_DRAWN_CALL") != nullptr) std::printf("%s\n", error.what());
      return false;
    }
  }
};

void limit(bool is_address_space) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (kIsSanitized) return;
  // What the process has already, in pages: its size, and after four other numbers its data.
  std::ifstream file("/proc/self/statm");
  rlim_t size = 0, skipped = 0, data = 0;
  file >> size >> skipped >> skipped >> skipped >> skipped >> data;
  const auto page = static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
  const rlim_t most = (is_address_space ? size : data) * page + kMemory;
  const rlimit memory{most, most};
  setrlimit(is_address_space ? RLIMIT_AS : RLIMIT_DATA, &memory);
}

[[noreturn]] void run_child(const Calls& calls, int64_t first, int64_t last, Shared& shared) {
  // Memory that is exhausted and memory that is refused are two things.
  limit(first / kBatch % 2 == 0);
  for (const int caught : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTERM})
    std::signal(caught, SIG_DFL);  // doctest's
  log::set_level("off");
  for (int64_t call = first; call < last; ++call) {
    shared.cpu_begin = seconds(CLOCK_PROCESS_CPUTIME_ID);
    shared.wall_begin = seconds(CLOCK_MONOTONIC);
    shared.call = call;
    shared.is_calling = true;
    try {
      const size_t entry = calls.entry_of(call);
      ++(calls.run(call, shared.progress) ? shared.returned : shared.refused)[entry];
    } catch (const std::exception& error) {
      std::snprintf(shared.message, sizeof(shared.message), "%s: %s", typeid(error).name(), error.what());
      _exit(kForeign);
    } catch (...) {
      std::snprintf(shared.message, sizeof(shared.message), "an exception without a class");
      _exit(kForeign);
    }
    shared.is_calling = false;
  }
  _exit(0);
}

int64_t resident_bytes(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/statm");
  int64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

/// What became of a child that runs calls: empty when all is well, "long" for one that was stopped over much work.
std::string wait_for(pid_t child, const Shared& shared) {
  clockid_t clock{};
  const bool has_clock = clock_getcpuclockid(child, &clock) == 0;
  const double slowness = kIsSanitized ? 20 : 1;
  for (int64_t polls = 0;; ++polls) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) {
      if (WIFSIGNALED(status)) return std::string("signal ") + strsignal(WTERMSIG(status));
      if (WEXITSTATUS(status) == kForeign) return std::string("exception ") + shared.message;
      return WEXITSTATUS(status) == 0 ? "" : "exit with status " + std::to_string(WEXITSTATUS(status));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (polls % 20 != 0 || !shared.is_calling) continue;
    const int64_t call = shared.call;
    const double waited = seconds(CLOCK_MONOTONIC) - shared.wall_begin;
    const double computed = has_clock ? seconds(clock) - shared.cpu_begin : waited;
    const bool has_much_work = shared.progress.elements >= kMuchWork || resident_bytes(child) >= kMuchMemory;
    const double most = shared.progress.elements >= kMuchWork ? 1 : kMostSeconds;
    if (call != shared.call ||
        ((waited < most * slowness || computed < most * slowness) && waited < kMostWaiting * slowness)) {
      continue;
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return has_much_work ? "long" : "no end after " + std::to_string(waited) + " s";
  }
}

}  // namespace

TEST_CASE("drawn calls: each returns or throws an error of Kusari's") {
  const Calls calls;
  REQUIRE(entries().size() < kMostEntries);
  REQUIRE(!calls.chosen.empty());
  const int64_t single = number("KUSARI_DRAWN_CALL", -1);
  if (single >= 0) {
    static Progress progress;
    std::printf("%s\n", entries()[calls.entry_of(single)].name);
    std::atexit([] { std::printf("%s\n", progress.text); });
    if (std::getenv("KUSARI_DRAWN_LIMIT") != nullptr) limit(true);
    CHECK((calls.run(single, progress), true));
    return;
  }

  // In the middle of addresses that are no memory, so that a call that writes where it may not spoils no report.
  void* const range = mmap(nullptr, 3 * kGuard, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(range != MAP_FAILED);
  void* const memory = static_cast<char*>(range) + kGuard;
  REQUIRE(mprotect(memory, sizeof(Shared), PROT_READ | PROT_WRITE) == 0);
  Shared& shared = *new (memory) Shared{};
  const int64_t begin = number("KUSARI_DRAWN_FIRST", 0);
  const int64_t end = begin + number("KUSARI_DRAWN_CALLS", kIsSanitized ? 500 : 5000);
  std::map<std::string, int64_t> findings;
  int64_t found = 0, long_calls = 0;
  for (int64_t call = begin; call < end;) {
    const int64_t last = std::min(end, (call / kBatch + 1) * kBatch);
    std::fflush(stdout);
    shared.is_calling = false;  // whatever the child before was stopped in
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) run_child(calls, call, last, shared);
    const std::string what = wait_for(child, shared);
    if (what.empty()) {
      call = last;
      continue;
    }
    call = shared.call + 1;
    if (what == "long") {
      ++long_calls;
      continue;
    }
    ++found;
    const std::string name = entries()[calls.entry_of(shared.call)].name;
    if (++findings[name.substr(0, name.find('(')) + ": " + what] > 3) continue;
    MESSAGE(name, ": ", what, "\n ", std::string(shared.progress.text), "\n  again: KUSARI_DRAWN_SEED=", calls.seed,
            " KUSARI_DRAWN_CALL=", shared.call.load());
  }

  int64_t returned = 0, refused = 0;
  for (size_t i = 0; i < entries().size(); ++i) {
    returned += shared.returned[i], refused += shared.refused[i];
    if (std::getenv("KUSARI_DRAWN_TABLE") != nullptr) {
      std::printf("%6lld returned %6lld refused  %s\n", static_cast<long long>(shared.returned[i]),
                  static_cast<long long>(shared.refused[i]), entries()[i].name);
    }
  }
  for (const auto& [what, count] : findings) MESSAGE(count, " times ", what);
  MESSAGE(entries().size(), " functions, methods and links; ", end - begin, " calls: ", returned, " returned, ",
          refused, " threw errors, ", long_calls, " were stopped over much work, ", found, " broke");
  CHECK(found == 0);
  CHECK(returned > 0);
  munmap(range, 3 * kGuard);
}

}  // namespace kusari::misuse_drawn
