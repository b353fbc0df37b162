#include "kusari/framework/distributed/functions/reduce_scatter.h"

#include "kusari/framework/distributed/functions/allgather.h"
#include "kusari/framework/distributed/functions/connections.h"

namespace kusari::distributed::functions {
namespace {

class ReduceScatter final : public CommunicatorFunction {
 public:
  using CommunicatorFunction::CommunicatorFunction;
  const char* name() const override { return "reduce_scatter"; }

 private:
  Arrays forward(const ArrayRefs& in) override { return tied({comm().reduce_scatter(arrays_of(in))}); }

  Variables backward(const Variables& gy) override { return allgather(comm(), tied_gradients(gy)[0]); }
};

}  // namespace

Variable reduce_scatter(const Communicator& comm, std::span<const Variable> xs) {
  expect_one_for_each_rank(comm, "F::reduce_scatter", xs);
  return apply_all<ReduceScatter>(all_connected(xs), comm)[1];
}

}  // namespace kusari::distributed::functions
