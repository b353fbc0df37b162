#include "kusari/framework/distributed/links/multi_node_batch_normalization.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kusari/framework/distributed/functions/allgather.h"
#include "kusari/framework/distributed/links/batch_moments.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/stack.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/links/link_walk.h"

namespace kusari::distributed {

namespace F = kusari::functions;

MultiNodeBatchNormalization::MultiNodeBatchNormalization(const Shape& size, const Communicator& comm, Options options)
    : links::BatchNormalization(size, std::move(options)) {
  set_exchange(std::make_shared<const CommunicatorStatistics>(comm));
}

links::BatchMoments CommunicatorStatistics::moments(const Variable& x, const Dims& axis, Dtype dtype) const {
  F::expect_floating(x, "L::BatchNormalization", "x");
  const Variables own = batch_moments(x, axis, dtype);
  const Shape channels = own[0].shape();
  const int64_t n = numel(channels);
  const double own_count = n == 0 ? 0 : static_cast<double>(x.size() / n);

  // A rank's row: means, sums of squares, number of elements, number of examples.
  const auto flat = [&](const Variable& values) { return F::cast(F::reshape(values, {n}), Dtype::float64); };
  const std::vector<double> sizes{own_count, static_cast<double>(x.shape()[0])};
  const Variable tail(array(sizes).to_device(x.device()), false);
  const Variables rows = functions::allgather(comm_, F::concat({flat(own[0]), flat(own[1]), tail}, 0));

  std::vector<double> counts, examples;
  for (const Variable& row : rows) {
    const std::vector<double> values = row.array().slice(0, 2 * n, 2).to_vector<double>();
    counts.push_back(values[0]);
    examples.push_back(values[1]);
  }
  const double own_examples = examples[static_cast<size_t>(comm_.rank())];
  std::vector<Variable> weighed;
  for (size_t rank = 0; rank < rows.size(); ++rank) {
    weighed.push_back(scale_gradient(rows[rank], examples[rank] > 0 ? own_examples / examples[rank] : 0));
  }
  double total = 0;
  for (const double count : counts) total += count;
  const double divisor = std::max(total, 1.0);

  const Variable table = F::stack(weighed);
  const auto columns = [&](int64_t begin) { return F::get_item(table, {kEllipsis, Slice{begin, begin + n}}); };
  const Variable count(array(counts).reshape({static_cast<int64_t>(counts.size()), 1}).to_device(x.device()), false);
  const Variable means = columns(0);
  const Variable mean = F::sum(count * means, 0) / divisor;
  const Variable squares = F::sum(columns(n) + count * F::square(means - mean), 0);
  const auto of_channels = [&](const Variable& values) { return F::cast(F::reshape(values, channels), dtype); };
  return {of_channels(mean), of_channels(squares / divisor), total};
}

void synchronize_batch_normalizations(Link& model, const Communicator& comm) {
  const auto exchange = std::make_shared<const CommunicatorStatistics>(comm);
  kusari::detail::LinkWalk::each(model, [&](Link& link) {
    if (auto* normalization = dynamic_cast<links::BatchNormalization*>(&link)) normalization->set_exchange(exchange);
  });
}

}  // namespace kusari::distributed
