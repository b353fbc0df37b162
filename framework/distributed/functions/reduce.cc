#include "kusari/framework/distributed/functions/reduce.h"

#include "kusari/framework/distributed/functions/bcast.h"
#include "kusari/framework/distributed/functions/connections.h"
#include "kusari/framework/functions/given.h"

namespace kusari::distributed::functions {
namespace {

class Reduce final : public CommunicatorFunction {
 public:
  Reduce(const Communicator& comm, int root) : CommunicatorFunction(comm), root_{root} {}
  const char* name() const override { return "reduce"; }
  void describe(Attributes& options) const override {
    CommunicatorFunction::describe(options);
    options.set("root", root_);
  }

 private:
  Arrays forward(const ArrayRefs& in) override {
    device_ = in[0].device();
    const Array sum = comm().reduce(in[0], root_);
    if (!is_rank(root_)) return tied({});
    return tied({sum});
  }

  Variables backward(const Variables& gy) override {
    const Variable own = is_rank(root_) ? tied_gradients(gy)[0] : tie_gradient(gy);
    return {on_device(bcast(comm(), own, root_), device_)};
  }

  int root_;
  Device device_;
};

}  // namespace

Variable reduce(const Communicator& comm, const Variable& x, int root) {
  expect_rank(comm, "F::reduce", "root", root);
  kusari::functions::expect_given(x, "F::reduce", "x");
  const Variables outputs = apply_all<Reduce>({connected(x)}, comm, root);
  return outputs[comm.rank() == root ? 1 : 0];
}

}  // namespace kusari::distributed::functions
