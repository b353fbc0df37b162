#include "kusari/framework/core/random.h"

#include <cstddef>
#include <iterator>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/environment.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/host_vector.h"
#include "kusari/framework/core/philox.h"
#include "kusari/framework/core/random_replay.h"
#include "kusari/framework/core/serializer.h"

namespace kusari::random {
namespace {

uint64_t seed_at_start() {
  for (const char* variable : {"KUSARI_SEED", "CHAINER_SEED"}) {
    if (const auto seed = environment::number(variable)) return *seed;
  }
  std::random_device entropy;
  return (uint64_t{entropy()} << 32) | entropy();
}

__extension__ typedef unsigned __int128 uint128;

struct Stream {
  ForkSafeMutex mutex;
  RandomState state{seed_at_start(), 0};
};

constinit Lazy<Stream> process_stream;

// The stream of this thread's innermost LocalStream.
constinit thread_local RandomState* local __attribute__((tls_model("initial-exec"))) = nullptr;

// What this thread's draws are written to, or read from.
constinit thread_local DrawRecording* recording __attribute__((tls_model("initial-exec"))) = nullptr;
constinit thread_local DrawReplay* replay __attribute__((tls_model("initial-exec"))) = nullptr;

std::vector<int64_t> ascending(int64_t n) {
  argument::not_negative("random::permutation", "n", n);
  std::vector<int64_t> order = host_vector<int64_t>({n}, "random::permutation");
  std::iota(order.begin(), order.end(), int64_t{0});
  return order;
}

void shuffle(std::vector<int64_t>& order, RandomState at) {
  for (int64_t i = std::ssize(order) - 1; i > 0; --i) {
    const uint64_t place = at.offset + 2 * static_cast<uint64_t>(i);
    const uint64_t drawn = (uint64_t{philox_word(at.seed, place)} << 32) | philox_word(at.seed, place + 1);
    // The high half of a 64 x 64 bit product is uniform on [0, i] up to 2^-64 * (i + 1).
    const auto j = static_cast<int64_t>((static_cast<uint128>(drawn) * static_cast<uint64_t>(i + 1)) >> 64);
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(j)]);
  }
}

}  // namespace

LocalStream::LocalStream(uint64_t seed) noexcept : state_{seed, 0}, outer_{std::exchange(local, &state_)} {}

LocalStream::~LocalStream() { local = outer_; }

void seed(uint64_t value) { set_state({value, 0}); }

DrawRecording::DrawRecording(std::vector<Draw>& draws) noexcept
    : draws_{draws}, source_{replay}, outer_{std::exchange(recording, this)} {}

DrawRecording::~DrawRecording() { recording = outer_; }

void DrawRecording::add(const Draw& draw, const DrawReplay* source) {
  if (source == source_) draws_.push_back(draw);
  if (outer_ != nullptr) outer_->add(draw, source);
}

DrawReplay::DrawReplay(std::span<const Draw> draws, const char* call) noexcept
    : draws_{draws}, call_{call}, outer_{std::exchange(replay, this)} {}

DrawReplay::~DrawReplay() { replay = outer_; }

UnrecordedDraws::UnrecordedDraws() noexcept
    : recording_{std::exchange(recording, nullptr)}, replay_{std::exchange(replay, nullptr)} {}

UnrecordedDraws::~UnrecordedDraws() {
  recording = recording_;
  replay = replay_;
}

RandomState DrawReplay::next(uint64_t count) {
  if (next_ == draws_.size() || draws_[next_].count != count) {
    throw StateError(std::string(call_) + ": the function draws other random numbers when it is called again");
  }
  return draws_[next_++].state;
}

namespace {

RandomState take_from_stream(uint64_t count) {
  if (local != nullptr) return {local->seed, std::exchange(local->offset, local->offset + count)};
  const std::scoped_lock lock(process_stream->mutex);
  RandomState taken = process_stream->state;
  process_stream->state.offset += count;
  return taken;
}

RandomState take(uint64_t count) {
  const RandomState taken = replay != nullptr ? replay->next(count) : take_from_stream(count);
  if (recording != nullptr) [[unlikely]]
    recording->add({taken, count}, replay);
  return taken;
}

}  // namespace

RandomState reserve(uint64_t count) {
  const RandomState taken = take(count);
  if (GraphCapture* const capture = GraphCapture::current(); capture != nullptr && replay == nullptr) [[unlikely]]
    capture->drawn(taken, count);
  return taken;
}

RandomState state() {
  if (local != nullptr) return *local;
  const std::scoped_lock lock(process_stream->mutex);
  return process_stream->state;
}

void set_state(RandomState value) {
  GraphCapture::refuse("random::set_state", "the stream of random numbers starts anew");
  if (local != nullptr) {
    *local = value;
    return;
  }
  const std::scoped_lock lock(process_stream->mutex);
  process_stream->state = value;
}

void serialize(Serializer& serializer) {
  RandomState value = state();
  serializer("seed", value.seed);
  serializer("offset", value.offset);
  if (!serializer.is_writer()) set_state(value);
}

uint64_t bits() {
  GraphCapture::refuse("random::bits", "the host decides by a random number");
  const RandomState at = take(2);
  return (uint64_t{philox_word(at.seed, at.offset)} << 32) | philox_word(at.seed, at.offset + 1);
}

std::vector<int64_t> permutation(int64_t n) {
  GraphCapture::refuse("random::permutation", "the host decides by random numbers");
  std::vector<int64_t> order = ascending(n);
  shuffle(order, take(2 * static_cast<uint64_t>(n)));
  return order;
}

std::vector<int64_t> permutation(int64_t n, uint64_t seed) {
  std::vector<int64_t> order = ascending(n);
  shuffle(order, {seed, 0});
  return order;
}

}  // namespace kusari::random
