#include "kusari/framework/cpu/isa/depthwise.h"

#include "kusari/framework/cpu/isa/depthwise_block.h"

namespace kusari::cpu {
namespace {

struct InOrder {  // float32
  using Element = float;
  // With two vectors of channels, enough sums at a time to hide how long one takes. Where multiply_add is many
  // instructions, one position has enough of them.
  static constexpr int kPositions = kFusesBySteps ? 1 : 4;
  static constexpr bool kLeavesMiddle = true;  // unchecked, by code of its own
  static constexpr bool kFetchesAhead = false;
  static constexpr bool kIsMasked = false;  // whether two vectors may have any number of channels
  static i64 channel_of(i64 lane) { return lane; }
  template <int kVectors>
  [[gnu::always_inline]] static void load_channels(const float* from, i64 left, Vector<float> (&value)[kVectors]) {
    for (int v = 0; v < kVectors; ++v) value[v] = kVectors > 1 ? load(from + v * kLanes) : load_first(from, left);
  }
  template <int kVectors>
  [[gnu::always_inline]] static void load_bias(const float* from, i64 left, Vector<float> (&value)[kVectors]) {
    load_channels(from, left, value);
  }
  template <int kVectors>
  [[gnu::always_inline]] static void store_channels(float* to, i64 left, const Vector<float> (&value)[kVectors]) {
    for (int v = 0; v < kVectors; ++v) {
      kVectors > 1 ? store(to + v * kLanes, value[v]) : store_first(to, value[v], left);
    }
  }
};

constexpr DepthwiseLoops<float> kLoops = {kLanes, pack_depthwise<InOrder>, depthwise_line<InOrder>};

}  // namespace

namespace KUSARI_ISA {
const DepthwiseLoops<float>* depthwise_loops() { return &kLoops; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
