#include "kusari/framework/distributed/functions/allreduce.h"

#include "kusari/framework/distributed/functions/connections.h"
#include "kusari/framework/functions/given.h"

namespace kusari::distributed::functions {
namespace {

class AllReduce final : public CommunicatorFunction {
 public:
  using CommunicatorFunction::CommunicatorFunction;
  const char* name() const override { return "allreduce"; }

 private:
  Arrays forward(const ArrayRefs& in) override { return tied({comm().allreduce(in[0])}); }

  Variables backward(const Variables& gy) override { return {allreduce(comm(), tied_gradients(gy)[0])}; }
};

}  // namespace

Variable allreduce(const Communicator& comm, const Variable& x) {
  kusari::functions::expect_given(x, "F::allreduce", "x");
  return apply_all<AllReduce>({connected(x)}, comm)[1];
}

}  // namespace kusari::distributed::functions
