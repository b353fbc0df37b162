#include "kusari/framework/distributed/functions/gather.h"

#include "kusari/framework/distributed/functions/connections.h"
#include "kusari/framework/distributed/functions/scatter.h"
#include "kusari/framework/functions/given.h"

namespace kusari::distributed::functions {
namespace {

class Gather final : public CommunicatorFunction {
 public:
  Gather(const Communicator& comm, int root) : CommunicatorFunction(comm), root_{root} {}
  const char* name() const override { return "gather"; }
  void describe(Attributes& options) const override {
    CommunicatorFunction::describe(options);
    options.set("root", root_);
  }

 private:
  Arrays forward(const ArrayRefs& in) override {
    device_ = in[0].device();
    return tied(comm().gather(in[0], root_));  // of nothing where this is not the root
  }

  Variables backward(const Variables& gy) override {
    if (is_rank(root_)) return {scatter(comm(), tied_gradients(gy), root_)};
    return {on_device(scatter(comm(), {tie_gradient(gy)}, root_), device_)};
  }

  int root_;
  Device device_;
};

}  // namespace

Variables gather(const Communicator& comm, const Variable& x, int root) {
  expect_rank(comm, "F::gather", "root", root);
  kusari::functions::expect_given(x, "F::gather", "x");
  const Variables outputs = apply_all<Gather>({connected(x)}, comm, root);
  return comm.rank() == root ? without_tie(outputs) : outputs;
}

}  // namespace kusari::distributed::functions
