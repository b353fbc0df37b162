#include "kusari/framework/distributed/functions/allgather.h"

#include "kusari/framework/distributed/functions/connections.h"
#include "kusari/framework/distributed/functions/reduce_scatter.h"
#include "kusari/framework/functions/given.h"

namespace kusari::distributed::functions {
namespace {

class AllGather final : public CommunicatorFunction {
 public:
  using CommunicatorFunction::CommunicatorFunction;
  const char* name() const override { return "allgather"; }

 private:
  Arrays forward(const ArrayRefs& in) override { return tied(comm().allgather(in[0])); }

  Variables backward(const Variables& gy) override { return {reduce_scatter(comm(), tied_gradients(gy))}; }
};

}  // namespace

Variables allgather(const Communicator& comm, const Variable& x) {
  kusari::functions::expect_given(x, "F::allgather", "x");
  return without_tie(apply_all<AllGather>({connected(x)}, comm));
}

}  // namespace kusari::distributed::functions
