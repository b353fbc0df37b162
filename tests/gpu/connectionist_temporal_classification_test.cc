#include "kusari/framework/kernels/connectionist_temporal_classification.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/philox.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/softmax.h"
#include "kusari/tests/gpu/testing.h"

namespace kusari::testing {
namespace {

struct CtcCase {
  int64_t frames, symbols, labels, blank;
};

TEST_CASE("connectionist_temporal_classification: losses and gradients as on the CPU") {
  const auto device = gpu_device();
  if (!device) return;
  const int64_t batch = 5;
  for (const CtcCase& c :
       {CtcCase{6, 4, 2, 0}, {20, 7, 9, 3}, {3, 3, 5, 1}, {40, 300, 12, 0}, {5, 2, 0, 1}, {1, 2, 1, 0}}) {
    CAPTURE(c.frames);
    CAPTURE(c.labels);
    // Repeated labels, lengths of all kinds, labels that do not fit, and those that are the blank.
    std::vector<int64_t> t(static_cast<size_t>(batch * c.labels)), frames, labels;
    for (size_t i = 0; i < t.size(); ++i) {
      t[i] = static_cast<int64_t>(philox_word(3, i) % static_cast<uint32_t>(c.symbols));
      if (i % 3 == 1) t[i] = t[i - 1];
    }
    for (int64_t b = 0; b < batch; ++b) {
      frames.push_back(b == 3 ? 0 : c.frames - b % 3 * (c.frames > 3 ? 1 : 0));
      labels.push_back(b == 4 ? 0 : c.labels - (b == 1 && c.labels > 1 ? 1 : 0));
    }
    const Array of_t = array(t, {batch, c.labels}), of_frames = array(frames), of_labels = array(labels);
    for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
      const Array x = uniform_array({c.frames, batch, c.symbols}, -2, 2, dtype);
      const auto align = [&](const Array& own_x, const Array& own_t, const Array& own_frames, const Array& own_labels) {
        const Array log_p = empty_like(own_x), loss = empty({batch}, dtype, own_x.device());
        launch<kernels::LogSoftmax>(own_x.device(), 2, own_x, log_p);
        const Array p = pointwise(kernels::Exp{}, log_p);
        launch<kernels::ConnectionistTemporalClassification>(own_x.device(), kernels::LabelAlignment{c.blank}, log_p,
                                                             own_t, own_frames, own_labels, loss, p);
        return std::vector<Array>{loss, p};
      };
      check_on_gpu(*device, align, dtype == Dtype::float32 ? 10 : 100, x, of_t, of_frames, of_labels);
      check_on_gpu(*device, align, dtype == Dtype::float32 ? 10 : 100, x, of_t.astype(Dtype::int32),
                   of_frames.astype(Dtype::int32), of_labels.astype(Dtype::int32));
    }
  }
}

}  // namespace
}  // namespace kusari::testing
