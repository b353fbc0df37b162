#include "kusari/framework/distributed/functions/scatter.h"

#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/distributed/functions/connections.h"
#include "kusari/framework/distributed/functions/gather.h"
#include "kusari/framework/functions/given.h"

namespace kusari::distributed::functions {
namespace {

class Scatter final : public CommunicatorFunction {
 public:
  Scatter(const Communicator& comm, int root) : CommunicatorFunction(comm), root_{root} {}
  const char* name() const override { return "scatter"; }
  void describe(Attributes& options) const override {
    CommunicatorFunction::describe(options);
    options.set("root", root_);
  }

 private:
  Arrays forward(const ArrayRefs& in) override {
    device_ = in[0].device();
    if (is_rank(root_)) return tied({comm().scatter(arrays_of(in), root_)});
    return tied({comm().scatter({}, root_).to_device(device_)});
  }

  Variables backward(const Variables& gy) override {
    const Variables gxs = gather(comm(), tied_gradients(gy)[0], root_);
    if (is_rank(root_)) return gxs;
    return {gradient_through(gxs[0], input_shape(0), input_dtype(0), device_)};
  }

  int root_;
  Device device_;
};

}  // namespace

Variable scatter(const Communicator& comm, std::span<const Variable> xs, int root) {
  expect_rank(comm, "F::scatter", "root", root);
  if (comm.rank() == root) {
    expect_one_for_each_rank(comm, "F::scatter", xs);
    return apply_all<Scatter>(all_connected(xs), comm, root)[1];
  }
  if (xs.size() > 1) {
    throw ValueError("F::scatter: xs has " + std::to_string(xs.size()) +
                     " variables on a rank that is not the root: there must be none, or one that connects the graph");
  }
  kusari::functions::expect_all_given(xs, "F::scatter");
  return apply_all<Scatter>({connection(xs.empty() ? Variable() : xs[0])}, comm, root)[1];
}

}  // namespace kusari::distributed::functions
