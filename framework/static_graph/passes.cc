#include "kusari/framework/static_graph/passes.h"

#include <algorithm>

#include "kusari/framework/static_graph/memory_planner.h"
#include "kusari/framework/static_graph/passes/common_inputs.h"
#include "kusari/framework/static_graph/passes/concat_in_place.h"
#include "kusari/framework/static_graph/passes/constants.h"
#include "kusari/framework/static_graph/passes/dead_kernels.h"
#include "kusari/framework/static_graph/passes/fold_batch_normalization.h"
#include "kusari/framework/static_graph/passes/fuse_attention.h"
#include "kusari/framework/static_graph/passes/fuse_convolutions.h"
#include "kusari/framework/static_graph/passes/fuse_excitation.h"
#include "kusari/framework/static_graph/passes/fuse_gelu.h"
#include "kusari/framework/static_graph/passes/fuse_pointwise.h"
#include "kusari/framework/static_graph/passes/hoist_exchanges.h"
#include "kusari/framework/static_graph/passes/lower_quantized.h"
#include "kusari/framework/static_graph/passes/lower_quantized_additions.h"
#include "kusari/framework/static_graph/passes/lower_quantized_poolings.h"

namespace kusari::graphs {

PassLog run_passes(Program& program, const StaticGraphPasses& passes) {
  PassLog log;
  log.recorded_kernels =
      static_cast<size_t>(std::ranges::count_if(program.steps, [](const Step& step) { return !step.is_code(); }));
  const std::vector<Lifetime> recorded = lifetimes(program);
  for (const Lifetime& life : recorded) log.recorded_bytes += life.bytes;
  log.recorded_live_bytes = largest_live_bytes(recorded);

  if (passes.dead_kernels) dead_kernels(program, log);
  if (passes.common_inputs) common_inputs(program, log);
  if (passes.constants) constants(program, log);
  if (passes.fuse_attention) fuse_attention(program, log);
  if (passes.fuse_gelu) fuse_gelu(program, log);
  if (passes.fold_batch_normalization) fold_batch_normalization(program, log);
  if (passes.fuse_convolutions) fuse_convolutions(program, log);
  if (passes.fuse_excitation) fuse_excitation(program, log);
  if (passes.pack_products) pack_products(program, log);
  if (passes.lower_quantized) {
    lower_quantized(program, log);
    lower_quantized_additions(program, log);
    lower_quantized_poolings(program, log);
  }
  if (passes.concat_in_place) concat_in_place(program, log);
  if (passes.fuse_pointwise) fuse_pointwise(program, log);
  if (passes.dead_kernels) dead_kernels(program, log);
  if (passes.hoist_exchanges) hoist_exchanges(program, log);
  return log;
}

Program rewritten(Program program, const StaticGraphPasses& passes, PassLog& log) {
  log = run_passes(program, passes);
  return program;
}

}  // namespace kusari::graphs
