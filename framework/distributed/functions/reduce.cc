#include "kusari/framework/distributed/functions/reduce.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/distributed/functions/bcast.h"
#include "kusari/framework/distributed/functions/connections.h"
#include "kusari/framework/functions/given.h"

namespace kusari::distributed::functions {
namespace {

class Reduce final : public CommunicatorFunction {
 public:
  Reduce(const Communicator& comm, int root) : CommunicatorFunction(comm), root_{root} {}
  const char* name() const override { return "reduce"; }
  void describe(Attributes& options) const override { options.set("root", root_); }

 private:
  Arrays forward(const ArrayRefs& in) override {
    refuse_recording();
    device_ = in[0].device();
    const Array sum = comm().reduce(in[0], root_);
    return {comm().rank() == root_ ? sum : zeros({}, Dtype::float32)};
  }

  Variables backward(const Variables& gy) override {
    const Variable gx = bcast(comm(), gy[0], root_);
    return {comm().rank() == root_ ? gx : on_device(gx, device_)};
  }

  int root_;
  Device device_;
};

}  // namespace

Variable reduce(const Communicator& comm, const Variable& x, int root) {
  expect_rank(comm, "F::reduce", "root", root);
  kusari::functions::expect_given(x, "F::reduce", "x");
  return apply<Reduce>({connected(x)}, comm, root);
}

}  // namespace kusari::distributed::functions
