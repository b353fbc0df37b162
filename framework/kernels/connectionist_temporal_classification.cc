#include "kusari/framework/kernels/connectionist_temporal_classification.h"

#include <string>

#include "kusari/framework/core/error.h"

namespace kusari::kernels {
namespace {

constexpr const char* kCall = "F::connectionist_temporal_classification: ";

void check_length(const char* argument, size_t b, int64_t length, int64_t most) {
  if (length >= 0 && length <= most) return;
  throw ValueError(kCall + std::string(argument) + "[" + std::to_string(b) + "] is " + std::to_string(length) +
                   ": it must be in [0, " + std::to_string(most) + "]");
}

}  // namespace

void check_label_alignment(const LabelAlignmentSizes& sizes, std::span<const int64_t> labels,
                           std::span<const int64_t> input_length, std::span<const int64_t> label_length) {
  for (size_t b = 0; b < input_length.size(); ++b) {
    check_length("input_length", b, input_length[b], sizes.frames);
    check_length("label_length", b, label_length[b], sizes.labels);
    const auto own = labels.subspan(b * static_cast<size_t>(sizes.labels), static_cast<size_t>(label_length[b]));
    for (const int64_t label : own) {
      if (label >= 0 && label < sizes.symbols) continue;
      throw IndexError(kCall + std::string("label ") + std::to_string(label) + " in t must be in [0, " +
                       std::to_string(sizes.symbols) + ")");
    }
  }
}

}  // namespace kusari::kernels
