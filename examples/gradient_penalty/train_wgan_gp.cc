// Trains a Wasserstein GAN with gradient penalty on eight Gaussians: the gradient of the critic's gradient in a loss.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/banner.h"
#include "kusari/examples/common/flags.h"
#include "kusari/examples/gradient_penalty/gaussian_ring.h"
#include "kusari/examples/gradient_penalty/net.h"
#include "kusari/examples/gradient_penalty/updater.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  int64_t batchsize = count("-b,--batchsize", 256, "Number of points in each mini-batch");
  int64_t iteration = count("-i,--iteration", 3000, "Number of steps of the generator");
  int64_t interval = count("--interval", 500, "Iterations between two rows of the log");
  std::string device = device_flag();
  std::string out = out_flag();
  std::string resume = resume_flag();
  int64_t unit = count("-u,--unit", 128, "Number of units");
  int64_t n_critic = count("--n-critic", 5, "Steps of the critic for one of the generator");
  double gradient_weight = real("--lambda", 1, "Weight of the gradient penalty");
  double alpha = real("--alpha", 1e-3, "Step size of Adam at the beginning");
  double deviation = real("--deviation", 0.05, "Standard deviation of points around their centers");
  bool test = flag("--test", "Take 20 steps with a few points for a quick test");
  int64_t seed = number("--seed", 0, "Seed of the random numbers; runs with the same one are the same");

  Arguments() {
    if (test) batchsize = 16, iteration = 20, interval = 10;
  }
};

// Draws points as dots on a plane of -1.5 .. 1.5, real ones orange and generated ones blue.
void save_points(const std::string& path, const Array& real, const Array& generated) {
  constexpr int64_t kSide = 300;
  constexpr size_t kPixels = static_cast<size_t>(kSide) * kSide;
  std::vector<uint8_t> image(3 * kPixels, 255);
  const auto draw = [&](const Array& points, std::array<uint8_t, 3> color) {
    const std::vector<double> x = points.to_vector<double>();
    const auto pixel = [](double value) { return static_cast<int64_t>((value + 1.5) / 3 * kSide); };
    for (size_t i = 0; i < x.size(); i += 2) {
      const int64_t column = pixel(x[i]), row = kSide - 1 - pixel(x[i + 1]);
      if (std::min(column, row) < 0 || std::max(column, row) >= kSide) continue;
      for (size_t c = 0; c < 3; ++c) image[c * kPixels + static_cast<size_t>(row * kSide + column)] = color[c];
    }
  };
  draw(real, {255, 127, 14});
  draw(generated, {31, 119, 180});
  datasets::save_png(path, array(image, {3, kSide, kSide}));
}

void train(const Arguments& args) {
  random::seed(static_cast<uint64_t>(args.seed));
  const auto device = get_device(args.device);
  print_banner({{"Device", device},
                {"# unit", args.unit},
                {"# Minibatch-size", args.batchsize},
                {"# iteration", args.iteration}});

  // Set up the points to imitate
  const GaussianRing ring(args.deviation);
  const auto points = ring.draw(5000, static_cast<uint64_t>(args.seed));
  iterators::SerialIterator train_iter(points, args.batchsize);

  // Set up the networks and their optimizers
  const WganGpOptions options{.n_critic = args.n_critic, .gradient_weight = args.gradient_weight, .device = device};
  Mlp gen(options.n_latent, args.unit, 2), critic(2, args.unit, 1);
  gen.to(device);
  critic.to(device);
  optimizers::Adam gen_optimizer({.alpha = args.alpha, .beta1 = 0.5, .beta2 = 0.9});
  optimizers::Adam critic_optimizer({.alpha = args.alpha, .beta1 = 0.5, .beta2 = 0.9});
  gen_optimizer.setup(gen);
  critic_optimizer.setup(critic);

  // Set up a trainer
  WganGpUpdater updater(train_iter, gen, critic, gen_optimizer, critic_optimizer, options);
  training::Trainer trainer(updater, {args.iteration, "iteration"}, args.out);
  const training::TriggerRef interval(args.interval, "iteration");

  // Let both step sizes fall to zero
  for (Optimizer* const optimizer : {&gen_optimizer, &critic_optimizer}) {
    trainer.extend(extensions::CosineShift("alpha", args.iteration, {.optimizer = *optimizer}),
                   {.trigger = {1, "iteration"}});
  }

  // Count the centers that the generator has found
  const auto generated = [&](int64_t n) {
    const auto no_graph = no_backprop_mode();
    return updater.generate(n).array();
  };
  const auto count_modes = [&](training::Trainer&) {
    const auto coverage = ring.coverage(generated(8000));
    report({{"modes", coverage.modes}, {"quality", coverage.quality}}, gen);
  };
  trainer.extend(count_modes, {.name = "coverage", .trigger = interval, .priority = training::kPriorityWriter});

  trainer.extend(extensions::snapshot(), {.trigger = {args.iteration, "iteration"}});
  trainer.extend(extensions::LogReport({.trigger = interval}));
  trainer.extend(extensions::PrintReport({"iteration", "critic/distance", "critic/gradient_norm", "critic/penalty",
                                          "gen/modes", "gen/quality", "elapsed_time"}),
                 {.trigger = interval});
  trainer.extend(extensions::ProgressBar());
  if (!args.resume.empty()) serializers::load_npz(args.resume, trainer);

  // Run the training
  trainer.run();

  const auto coverage = ring.coverage(generated(8000));
  std::printf("The generator has found %d of %d centers; %.1f %% of its points are within three deviations of one.\n",
              coverage.modes, GaussianRing::kModes, 100 * coverage.quality);
  save_points((std::filesystem::path(args.out) / "points.png").string(), points.arrays()[0], generated(5000));
}

}  // namespace

int main(int argc, char** argv) { return run_program<Arguments>(argc, argv, "Kusari example: WGAN-GP", train); }
