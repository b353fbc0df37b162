#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include "kusari/framework/core/memory.h"
#include "kusari/framework/core/version.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/iterators/iterator.h"
#include "kusari/tools/kusari-bench/cases.h"
#include "kusari/tools/kusari-bench/iterator_flow.h"

namespace bench {
namespace {

namespace datasets = kusari::datasets;

/// Bytes of 16 B to 256 KiB, all magnitudes equally often, another number each time.
class Varying final : public datasets::Dataset {
 public:
  int64_t size() const override { return 10'000; }
  datasets::Example get(int64_t i) const override {
    datasets::ExampleRandom random = datasets::ExampleRandomScope::stream(i);
    const kusari::Array bytes =
        kusari::empty({static_cast<int64_t>(std::exp2(4 + 14 * random.uniform()))}, kusari::Dtype::uint8);
    std::memset(bytes.raw_data(), 1, static_cast<size_t>(bytes.size()));
    return {bytes};
  }
};

void run(const Settings& settings, const std::string& kind, int64_t workers) {
  constexpr int kBatches = 20'000, kWarmUp = 500;
  const int64_t batch_size = settings.batch > 0 ? settings.batch : 32;
  const auto loader = make_iterator(kind, Varying(), batch_size, workers);
  double early = 0;
  for (int i = 0; i < kBatches; ++i) {
    if (i == kWarmUp) early = resident_mib();
    loader->next();
  }
  const double late = resident_mib();
  loader->finalize();
  std::printf(
      "{\"bench\":\"iterator_memory.%s\",\"impl\":\"kusari-%s\",\"workers\":%lld,\"batch\":%lld,\"batches\":%d,"
      "\"unit\":\"MiB\",\"resident\":%.1f,\"after_%d\":%.1f,\"peak\":%.1f,\"pool_reserved\":%.1f}\n",
      kind.c_str(), KUSARI_VERSION, static_cast<long long>(workers), static_cast<long long>(batch_size), kBatches, late,
      kWarmUp, early, peak_resident_mib(), static_cast<double>(kusari::memory::statistics().reserved) / (1 << 20));
  std::fflush(stdout);
}

}  // namespace

// Each in a process of its own, whose memory is nobody else's.
void iterator_memory(const Settings& settings) {
  for_each_loader(settings, [&](const std::string& kind, int64_t workers) {
    std::fflush(stdout);
    const pid_t process = fork();
    if (process < 0) throw std::runtime_error("iterator_memory: fork failed");
    if (process == 0) {
      int status = 0;
      try {
        run(settings, kind, workers);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "iterator_memory: %s\n", error.what());
        status = 1;
      }
      _exit(status);
    }
    int status = 0;
    waitpid(process, &status, 0);
    if (status != 0) throw std::runtime_error("iterator_memory: " + kind + " failed");
  });
}

}  // namespace bench
