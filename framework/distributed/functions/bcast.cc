#include "kusari/framework/distributed/functions/bcast.h"

#include "kusari/framework/distributed/functions/connections.h"
#include "kusari/framework/distributed/functions/reduce.h"
#include "kusari/framework/functions/given.h"

namespace kusari::distributed::functions {
namespace {

class Bcast final : public CommunicatorFunction {
 public:
  Bcast(const Communicator& comm, int root) : CommunicatorFunction(comm), root_{root} {}
  const char* name() const override { return "bcast"; }
  void describe(Attributes& options) const override {
    CommunicatorFunction::describe(options);
    options.set("root", root_);
  }

 private:
  Arrays forward(const ArrayRefs& in) override {
    device_ = in[0].device();
    return tied({comm().bcast(in[0], root_)});
  }

  Variables backward(const Variables& gy) override {
    const Variable gx = reduce(comm(), tied_gradients(gy)[0], root_);
    if (is_rank(root_)) return {gx};
    return {gradient_through(gx, input_shape(0), input_dtype(0), device_)};
  }

  int root_;
  Device device_;
};

}  // namespace

Variable bcast(const Communicator& comm, const Variable& x, int root) {
  expect_rank(comm, "F::bcast", "root", root);
  if (comm.rank() != root) return apply_all<Bcast>({connection(x)}, comm, root)[1];
  kusari::functions::expect_given(x, "F::bcast", "x");
  return apply_all<Bcast>({connected(x)}, comm, root)[1];
}

}  // namespace kusari::distributed::functions
