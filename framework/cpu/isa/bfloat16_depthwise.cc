#include "kusari/framework/cpu/isa/bfloat16_block.h"
#include "kusari/framework/cpu/isa/depthwise.h"
#include "kusari/framework/cpu/isa/depthwise_block.h"

namespace kusari::cpu {
namespace {

static_assert(kLanes == kFloats);

/// Two vectors have the even channels and the odd ones: a shift and a mask widen them.
struct EvenAndOdd {
  using Element = u16;
  // As many sums as leave registers for a line of the kernel, so that the processor need not look far ahead for work.
  // Networks for images of 224 have maps that are multiples of 7 wide.
  static constexpr int kPositions = 7;
  static constexpr bool kLeavesMiddle = false;  // checks cost nothing that can be measured
  static constexpr bool kFetchesAhead = true;
  static constexpr bool kIsMasked = true;
  static i64 channel_of(i64 lane) { return 2 * (lane % kLanes) + lane / kLanes; }

  [[gnu::always_inline]] static void load_channels(const u16* from, i64 left, Vector<float> (&value)[2]) {
    auto words = __builtin_bit_cast(Words, _mm512_maskz_loadu_epi16(first(left), from));
    asm("" : "+v"(words));  // read once: compilers would read memory in the shift and in the mask
    value[0] = __builtin_bit_cast(Vector<float>, words << 16);
    value[1] = __builtin_bit_cast(Vector<float>, words & 0xffff0000u);
  }
  [[gnu::always_inline]] static void load_bias(const float* from, i64 left, Vector<float> (&value)[2]) {
    const __mmask32 mask = first(left);
    const Vector<float> low = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from);
    const Vector<float> high = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask >> kLanes), from + kLanes);
    value[0] = __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    value[1] = __builtin_shufflevector(low, high, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  }
  [[gnu::always_inline]] static void store_channels(u16* to, i64 left, const Vector<float> (&value)[2]) {
    // Sixteen numbers of each; a permutation brings them in order.
    const auto apart = __builtin_bit_cast(__m512i, _mm512_cvtne2ps_pbh(value[1], value[0]));
    const __m512i lanes =
        _mm512_set_epi32(0x1f000f, 0x1e000e, 0x1d000d, 0x1c000c, 0x1b000b, 0x1a000a, 0x190009, 0x180008, 0x170007,
                         0x160006, 0x150005, 0x140004, 0x130003, 0x120002, 0x110001, 0x100000);
    _mm512_mask_storeu_epi16(to, first(left), _mm512_permutexvar_epi16(lanes, apart));
  }

 private:
  [[gnu::always_inline]] static __mmask32 first(i64 left) {
    return left >= 2 * kLanes ? ~__mmask32{0} : (__mmask32{1} << left) - 1;
  }
};

constexpr DepthwiseLoops<u16> kLoops = {2 * kLanes, pack_depthwise<EvenAndOdd>, depthwise_line<EvenAndOdd>};

}  // namespace

namespace v4_bf16 {
const DepthwiseLoops<u16>* bfloat16_depthwise_loops() { return &kLoops; }
}  // namespace v4_bf16

}  // namespace kusari::cpu
