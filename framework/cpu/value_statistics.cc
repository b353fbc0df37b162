#include <algorithm>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/small_vector.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/value_statistics.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/kernels/value_statistics.h"

namespace kusari::cpu {
namespace {

using kernels::ValueCounts;
using kernels::ValueRange;

ValueCounts count_range(const Array& x, int64_t begin, int64_t end, const ValueRange& range) {
  const ValueStatisticsLoops& loops = *KUSARI_LOOPS(isa(), value_statistics_loops);
  const char* const from = static_cast<const char*>(x.raw_data()) + begin * itemsize(x.dtype());
  ValueCounts counts = ValueCounts::none();
  if (!is_half(x.dtype())) {
    (x.dtype() == Dtype::float64 ? loops.f64 : loops.f32)(from, end - begin, &range, &counts);
    return counts;
  }
  const ConvertLoop widen = convert_loop(x.dtype(), Dtype::float32);
  alignas(64) float buffer[kBlock];
  for (int64_t at = 0; at < end - begin; at += kBlock) {
    const int64_t n = std::min(kBlock, end - begin - at);
    widen(from + at * itemsize(x.dtype()), buffer, n);
    loops.f32(buffer, n, &range, &counts);
  }
  return counts;
}

void value_statistics(InList x, Params<kernels::ValueCounting> counting, InOut counts) {
  auto* const rows = static_cast<ValueCounts*>(counts->raw_data());
  for (size_t i = 0; i < x.arrays().size(); ++i) {
    const Array& tensor = x.arrays()[i];
    if (!tensor.is_floating()) {
      throw TypeError(std::string("value_statistics: the tensors have dtype ") + name(tensor.dtype()) +
                      ": it must be floating");
    }
    const ValueRange range = counting->range(tensor.dtype());
    const int64_t chunks = (tensor.size() + kThreadChunk - 1) / kThreadChunk;
    SmallVector<ValueCounts, 8> parts(static_cast<size_t>(chunks));
    parallel_for(chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        const int64_t first = chunk * kThreadChunk;
        parts[static_cast<size_t>(chunk)] =
            count_range(tensor, first, std::min(tensor.size(), first + kThreadChunk), range);
      }
    });
    for (const ValueCounts& part : parts) rows[i].merge(part);
  }
}

}  // namespace

void register_value_statistics(Backend& backend) { backend.add<kernels::ValueStatistics>(value_statistics); }

}  // namespace kusari::cpu
