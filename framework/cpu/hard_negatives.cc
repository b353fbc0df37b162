#include "kusari/framework/kernels/hard_negatives.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/register.h"

namespace kusari::cpu {
namespace {

struct Negative {
  uint32_t bits;  // of the loss: they are in its order, and a NaN's are above all
  int64_t index;

  bool operator<(const Negative& other) const {  // goes before
    return bits != other.bits ? bits > other.bits : index < other.index;
  }
};

void hard_negatives(Params<double> ratio, In loss, In t, Out counts) {
  const int64_t images = t->shape(0), anchors = t->shape(1);
  parallel_for(images, 1, [&](int64_t begin, int64_t end) {
    std::vector<Negative> negatives;
    for (int64_t image = begin; image < end; ++image) {
      const float* const losses = loss->data<float>() + image * anchors;
      const int32_t* const labels = t->data<int32_t>() + image * anchors;
      float* const count = counts->data<float>() + image * anchors;
      negatives.clear();
      int64_t positives = 0;
      for (int64_t k = 0; k < anchors; ++k) {
        count[k] = labels[k] >= 0 ? 1.0F : 0.0F;
        positives += labels[k] >= 0 ? 1 : 0;
        if (labels[k] == -1) negatives.push_back({std::bit_cast<uint32_t>(losses[k]) & 0x7fffffffU, k});
      }
      const double wanted = *ratio * static_cast<double>(positives);
      const auto most = static_cast<double>(negatives.size());
      const auto chosen = negatives.begin() + static_cast<ptrdiff_t>(std::min(wanted, most));
      if (chosen != negatives.end()) std::nth_element(negatives.begin(), chosen, negatives.end());
      for (auto each = negatives.begin(); each != chosen; ++each) count[each->index] = 1;
    }
  });
}

}  // namespace

void register_hard_negatives(Backend& backend) { backend.add<kernels::HardNegatives>(&hard_negatives); }

}  // namespace kusari::cpu
