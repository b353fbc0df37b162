#include "kusari/framework/distributed/functions/gather.h"

#include <utility>
#include <vector>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/distributed/functions/connections.h"
#include "kusari/framework/distributed/functions/scatter.h"
#include "kusari/framework/functions/given.h"

namespace kusari::distributed::functions {
namespace {

class Gather final : public CommunicatorFunction {
 public:
  Gather(const Communicator& comm, int root) : CommunicatorFunction(comm), root_{root} {}
  const char* name() const override { return "gather"; }
  void describe(Attributes& options) const override { options.set("root", root_); }

 private:
  Arrays forward(const ArrayRefs& in) override {
    refuse_recording();
    device_ = in[0].device();
    Arrays gathered;
    for (Array& array : comm().gather(in[0], root_)) gathered.push_back(std::move(array));
    if (comm().rank() != root_) return {zeros({}, Dtype::float32)};
    forms_.keep(gathered);
    return gathered;
  }

  Variables backward(const Variables& gy) override {
    if (comm().rank() == root_) return {scatter(comm(), forms_.filled(gy), root_)};
    return {on_device(scatter(comm(), {gy[0]}, root_), device_)};
  }

  int root_;
  Device device_;
  OutputForms forms_;
};

}  // namespace

Variables gather(const Communicator& comm, const Variable& x, int root) {
  expect_rank(comm, "F::gather", "root", root);
  kusari::functions::expect_given(x, "F::gather", "x");
  return apply_all<Gather>({connected(x)}, comm, root);
}

}  // namespace kusari::distributed::functions
