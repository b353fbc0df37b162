#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: optimizers") {
  check_misuses({
      {[] {
         optimizers::SGD o;
         o.update();
       },
       is<StateError>, "SGD: no target; call setup(model) first"},
      {[] {
         optimizers::SGD o;
         o.target();
       },
       is<StateError>, "SGD: no target; call setup(model) first"},
      {[] {
         Net net;
         optimizers::SGD o;
         o.setup(net);
         o.update([] { return Variable(); });
       },
       is<TypeError>, "SGD::update: the loss function returned an undefined variable: it must return the loss"},
      {[] {
         Net ready;
         optimizers::SGD o;
         o.setup(ready);
         o.update([] { return real({2}); });
       },
       is<ValueError>,
       "Variable::backward: the variable has shape (2,) and no gradient; set one first, or start from a single "
       "element"},
      {[] {
         Net ready;
         optimizers::SGD o;
         o.setup(ready);
         o.hyperparameter("nope");
       },
       is<KeyError>, "SGD::hyperparameter: there is no 'nope': it must be one of lr"},
      {[] {
         optimizers::SGD o;
         o.add_hook(optimizer_hooks::WeightDecay(0.1));
       },
       is<StateError>, "SGD::add_hook: call setup(model) first"},
      {[] {
         Net ready;
         optimizers::SGD o;
         o.setup(ready);
         o.remove_hook("nope");
       },
       is<KeyError>, "Optimizer::remove_hook: there is no hook named 'nope'"},
      {[] {
         Net ready;
         optimizers::SGD o;
         o.setup(ready);
         o.add_hook(optimizer_hooks::WeightDecay(0.1));
         o.add_hook(optimizer_hooks::WeightDecay(0.1));
       },
       is<KeyError>, "Optimizer::add_hook: there is already a hook named 'WeightDecay'"},
      {[] {
         optimizers::SGD o;
         o.loss_scaling({.interval = 0});
       },
       is<ValueError>, "SGD::loss_scaling: interval is 0: it must be positive and finite"},
      {[] {
         optimizers::SGD o;
         o.loss_scaling({.scale = 0});
       },
       is<ValueError>, "SGD::loss_scaling: scale is 0: it must be positive and finite"},
      {[] {
         optimizers::SGD o;
         o.set_loss_scale(kNaN);
       },
       is<ValueError>, "SGD::loss_scaling: scale is nan: it must be positive and finite"},
      {[] {
         Net ready;
         optimizers::SGD o;
         o.setup(ready);
         o.accumulate({});
       },
       is<ValueError>, "SGD::accumulate: lossfun is empty: it must be callable"},
      {[] {
         optimizers::SGD o;
         o.backward(real({2}));
       },
       is<ValueError>,
       "Variable::backward: the variable has shape (2,) and no gradient; set one first, or start from a single "
       "element"},
      {[] {
         Net ready;
         optimizers::SGD o;
         o.setup(ready);
         o.backward(absent);
       },
       is<TypeError>, "SGD::backward: loss is not given: it is required"},
      {[] {
         optimizers::Adam o;
         o.lr();
       },
       is<StateError>, "Adam::lr: alpha_t is known from the first step on"},
      {[] {
         Net ready;
         optimizer_hooks::GradientClipping h(-1);
         optimizers::SGD o;
         o.setup(ready);
         o.add_hook(h);
       },
       is<ValueError>, "GradientClipping: threshold is -1: it must be positive, as nothing would be learned"},
      {[] {
         Net ready;
         optimizer_hooks::GradientClipping h(kNaN);
         optimizers::SGD o;
         o.setup(ready);
         o.add_hook(h);
       },
       is<ValueError>,
       "GradientClipping: threshold is not given, or NaN: it must be the largest norm of all gradients"},
      {[] {
         Net ready;
         optimizer_hooks::GradientHardClipping h(1, -1);
         optimizers::SGD o;
         o.setup(ready);
         o.add_hook(h);
       },
       is<ValueError>,
       "GradientHardClipping: lower_bound is 1 and upper_bound is -1: lower_bound must be at most "
       "upper_bound"},
  });
}

}  // namespace
}  // namespace kusari::misuse
