#pragma once

#include <cstdint>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/random_state.h"

namespace kusari {
class Serializer;
}

/// Random numbers: one Philox4x32-10 stream per process. A draw takes a range of the stream, and every element of the
/// result depends on the seed and its own place in the stream alone, so results do not depend on the number of threads
/// or the device. Source: Salmon et al. 2011.
namespace kusari::random {

/// While it lives, this thread draws from a stream of its own, which `seed` determines, instead of the process's.
/// What is drawn while an example is prepared then does not depend on which thread or process prepares it.
class KUSARI_API LocalStream {
 public:
  explicit LocalStream(uint64_t seed) noexcept;
  LocalStream(const LocalStream&) = delete;
  LocalStream& operator=(const LocalStream&) = delete;
  ~LocalStream();

 private:
  RandomState state_;
  RandomState* outer_;
};

/// Restarts the stream. At the start the seed comes from KUSARI_SEED (or CHAINER_SEED), else from the system.
KUSARI_API void seed(uint64_t seed);
/// Takes `count` numbers off the stream.
KUSARI_API RandomState reserve(uint64_t count);
/// Where the stream stands; for snapshots.
KUSARI_API RandomState state();
KUSARI_API void set_state(RandomState state);
KUSARI_API void serialize(Serializer& serializer);

/// 64 random bits from the stream; for the host's own decisions.
KUSARI_API uint64_t bits();
/// A random order of 0 .. n-1 (Fisher-Yates). Throws ValueError for a negative n, OutOfMemoryError for one that does
/// not fit into memory.
KUSARI_API std::vector<int64_t> permutation(int64_t n);
/// The random order of 0 .. n-1 that `seed` determines; leaves the stream alone.
KUSARI_API std::vector<int64_t> permutation(int64_t n, uint64_t seed);

}  // namespace kusari::random
