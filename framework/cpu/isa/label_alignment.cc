#include "kusari/framework/cpu/isa/label_alignment.h"

#include "kusari/framework/kernels/math.h"

namespace kusari::cpu {
namespace {

void step(const double* stay, const double* move, const double* skip, const double* may_skip, const double* emission,
          double* before, double* after, i64 n) {
#pragma omp simd
  for (i64 s = 0; s < n; ++s) {
    const double a = stay[s], b = move[s], c = skip[s] + may_skip[s];
    const double larger = a < b ? b : a, top = larger < c ? c : larger;
    const double shift = km::isinf(top) ? 0 : top;  // inf - inf is not a number
    const double sum = shift + km::log(km::exp(a - shift) + km::exp(b - shift) + km::exp(c - shift));
    before[s] = sum;
    after[s] = sum + emission[s];
  }
}

void posterior(const double* forward, const double* backward, double total, double* p, i64 n) {
#pragma omp simd
  for (i64 s = 0; s < n; ++s) p[s] = km::exp(forward[s] + backward[s] - total);
}

constexpr LabelAlignmentLoops kLoops = {&step, &posterior};

}  // namespace

namespace KUSARI_ISA {
const LabelAlignmentLoops* label_alignment_loops() { return &kLoops; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
