#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/memory.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/core/tuning.h"
#include "kusari/framework/datasets/image/image_dataset.h"
#include "kusari/framework/functions/connection/convolution_2d.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/tests/datasets/image/codecs.h"
#include "kusari/tests/scratch_directory.h"

// ThreadSanitizer holds locks of its own at a fork, which deadlock with several threads.
#if !defined(__SANITIZE_THREAD__)

namespace kusari {
namespace F = functions;

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kForksAllocate = false;  // its allocator's own locks may be taken in a child
#else
constexpr bool kForksAllocate = true;
#endif
constexpr unsigned kSecondsPerChild = 60;  // far beyond what a child needs, also on a busy machine

/// Runs `work` in a child; whether it came back with true within the time limit.
template <class Work>
bool succeeds_in_child(const Work& work) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::signal(SIGALRM, SIG_DFL);
    ::alarm(kSecondsPerChild);
    bool succeeded = false;
    try {
      succeeded = work();
    } catch (...) {
    }
    ::_exit(succeeded ? 0 : 1);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) MESSAGE("the child was killed by signal ", WTERMSIG(status));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Sends what the tests log to nowhere.
class Silence {
 public:
  Silence() : stderr_{::dup(STDERR_FILENO)} {
    const int nowhere = ::open("/dev/null", O_WRONLY);
    ::dup2(nowhere, STDERR_FILENO);
    ::close(nowhere);
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;
  ~Silence() {
    ::dup2(stderr_, STDERR_FILENO);
    ::close(stderr_);
  }

 private:
  int stderr_;
};

/// Whether everything that locks something works and is right. `seed` chooses sizes that are new to caches.
bool use_everything(const datasets::ImageDataset& images, int64_t seed) {
  // Memory: small blocks, inside arrays and out, large ones, the counters.
  std::vector<Array> held;
  for (int64_t n : {int64_t{10}, int64_t{500}, int64_t{5000}, int64_t{70000} + seed % 7, int64_t{400000}}) {
    held.push_back(full({n}, seed, Dtype::int32));
  }
  for (const Array& x : held) {
    if (x.at(-1).item<int64_t>() != seed) return false;
  }
  if (memory::statistics().allocated <= 0) return false;
  held.clear();
  memory::release_cached();

  bool caught = false;
  try {
    (void)arange(5).reshape({2, 3});
  } catch (const TypeError&) {
    caught = true;
  }
  if (!caught) return false;

  log::warn("example " + std::to_string(seed));
  const uint64_t a = random::bits(), b = random::bits();
  if (a == b || random::permutation(100).size() != 100) return false;
  tuning::keep("fork test " + std::to_string(seed % 50), "none");
  if (tuning::find("fork test " + std::to_string(seed % 50)) != "none") return false;

  // Kernels, several of which make something for each new shape.
  const int64_t size = 3 + seed % 61;
  const Array x = ones({2, 8, size, size}), w = ones({4, 8, 1, 1});
  const Array y = F::convolution_2d(Variable(x), Variable(w)).array();
  if (y.at(0).at(0).at(0).at(0).item<int>() != 8) return false;
  const Array z = F::linear(Variable(ones({size, 2 * size})), Variable(ones({5, 2 * size}))).array();
  if (z.at(0).at(0).item<int64_t>() != 2 * size) return false;
  std::atomic<int64_t> sum{0};
  parallel_for(1000, 10, [&](int64_t begin, int64_t end) { sum += end - begin; });
  if (sum != 1000) return false;

  // The second file is broken, so the third takes its place.
  for (int64_t i : {0, 1, 2}) {
    if (images.size() == 3 && images.get(i)[0].shape(1) != 6) return false;
  }
  return images.broken() == (images.size() == 3 ? 1 : 0);
}

struct Images {
  testing::ScratchDirectory folder;
  std::optional<datasets::ImageDataset> dataset;

  Images() {
    std::vector<std::string> paths;
#if defined(KUSARI_WITH_PNG) && defined(KUSARI_WITH_JPEG)
    const testing::Bytes jpeg = testing::encode_jpeg({.width = 5, .height = 6}, testing::Bytes(90, 100));
    const testing::Bytes png = testing::encode_png({.width = 5, .height = 6}, std::vector<uint16_t>(90, 100));
    for (const auto& [name, bytes] : {std::pair{"a.jpg", jpeg}, {"b.jpg", {1, 2, 3}}, {"c.png", png}}) {
      paths.push_back(folder / name);
      std::ofstream(paths.back(), std::ios::binary) << testing::as_string(bytes);
    }
#endif
    dataset.emplace(std::move(paths), datasets::ImageDatasetOptions{.skip_broken = true});
  }
};

TEST_CASE("fork: children of a busy process find no lock taken" * doctest::skip(!kForksAllocate)) {
  const Images images;
  const Silence silence;
  const int threads_before = num_threads();
  set_num_threads(3);
  std::atomic<bool> stop{false};
  std::atomic<int64_t> rounds{0}, failures{0};
  std::vector<std::thread> load;
  for (int64_t thread = 0; thread < 4; ++thread) {
    load.emplace_back([&, thread] {
      for (int64_t i = thread; !stop; i += 4) {
        if (!use_everything(*images.dataset, i)) ++failures;
        ++rounds;
      }
    });
  }
  constexpr int kForks = 500;
  int succeeded = 0, forks = 0;
  for (; forks < kForks && forks - succeeded < 3; ++forks) {
    succeeded += succeeds_in_child([&] { return is_forked() && use_everything(*images.dataset, forks); }) ? 1 : 0;
  }
  stop = true;
  for (std::thread& thread : load) thread.join();
  set_num_threads(threads_before);
  CHECK(succeeded == forks);
  CHECK(failures == 0);
  CHECK(rounds > 0);
  CHECK_FALSE(is_forked());
}

TEST_CASE("fork: mutexes taken in any order, made and destroyed meanwhile") {
  ForkSafeMutex a, b, c;
  int held = 0;  // protected by all three
  std::atomic<bool> stop{false};
  const auto hammer = [&](ForkSafeMutex& first, ForkSafeMutex& second) {
    while (!stop) {
      const std::scoped_lock one(first);
      const std::unique_lock other(second, std::try_to_lock);
      ForkSafeMutex fresh;
      const std::scoped_lock lock(fresh);
    }
  };
  std::vector<std::thread> load;
  load.emplace_back([&] { hammer(a, b); });
  load.emplace_back([&] { hammer(b, a); });
  load.emplace_back([&] { hammer(c, b); });
  load.emplace_back([&] {
    while (!stop) {
      const std::scoped_lock all(a, b, c);
      ++held;
      std::this_thread::yield();
      --held;
    }
  });
  int succeeded = 0;
  for (int forks = 0; forks < 200; ++forks) {
    succeeded += succeeds_in_child([&] {
      const std::scoped_lock all(a, b, c);
      ForkSafeMutex fresh;
      const std::scoped_lock lock(fresh);
      return held == 0;
    });
  }
  stop = true;
  for (std::thread& thread : load) thread.join();
  CHECK(succeeded == 200);
}

struct Slow {
  static inline std::atomic<int> made{0};
  Slow() {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    value = 7;
    ++made;
  }
  int value = 0;
};
constinit Lazy<Slow> slow;

TEST_CASE("fork: lazy objects are made once, and never half in a child") {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { right += slow->value == 7 ? 1 : 0; });
  while (Slow::made == 0 && right == 0) {
    CHECK(succeeds_in_child([] { return slow->value == 7; }));
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 4);
  CHECK(Slow::made == 1);
}

struct Failing {
  static inline int tried = 0;
  Failing() {
    if (++tried == 1) throw ValueError("not yet");
  }
};

TEST_CASE("a lazy object whose making fails is tried again") {
  static constinit Lazy<Failing> failing;
  CHECK_THROWS_AS(*failing, ValueError);
  CHECK_NOTHROW(*failing);
  CHECK(Failing::tried == 2);
}

}  // namespace
}  // namespace kusari

#endif
