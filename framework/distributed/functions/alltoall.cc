#include "kusari/framework/distributed/functions/alltoall.h"

#include "kusari/framework/distributed/functions/connections.h"

namespace kusari::distributed::functions {
namespace {

class AllToAll final : public CommunicatorFunction {
 public:
  using CommunicatorFunction::CommunicatorFunction;
  const char* name() const override { return "alltoall"; }

 private:
  Arrays forward(const ArrayRefs& in) override { return tied(comm().alltoall(arrays_of(in))); }

  Variables backward(const Variables& gy) override { return alltoall(comm(), tied_gradients(gy)); }
};

}  // namespace

Variables alltoall(const Communicator& comm, std::span<const Variable> xs) {
  expect_one_for_each_rank(comm, "F::alltoall", xs);
  return without_tie(apply_all<AllToAll>(all_connected(xs), comm));
}

}  // namespace kusari::distributed::functions
