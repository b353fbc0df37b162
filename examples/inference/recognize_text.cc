// Reads the texts in photos, with the networks of PP-OCR:
//
//   pip install rapidocr-onnxruntime==1.4.4
//   recognize_text --models "$(python3 -c 'import rapidocr_onnxruntime as r; print(r.__path__[0])')/models" photo.jpg
//
// Or with others, a detector and a recognizer, that work in the same way (text_reader.h). Texts that stand on their
// heads are not turned.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/inference/classifier.h"
#include "kusari/examples/inference/text_reader.h"

using namespace kusari;
namespace fs = std::filesystem;

namespace {

struct Arguments : Flags {
  std::vector<std::string> photos = value<std::vector<std::string>>("photos", {}, "JPEG and PNG files", required());
  std::string models = text("--models", "models", "Folder of the networks");
  std::string detector = text("--detector", "ch_PP-OCRv4_det_infer.onnx", "The network there that finds texts");
  std::string recognizer = text("--recognizer", "ch_PP-OCRv4_rec_infer.onnx", "The network there that reads a line");
  std::string characters =
      text("--characters", "", "A file with a character in each line (default: the recognizer's own)");
  double score = real("--score", 0.5, "What is less sure is left out", between(0.0, 1.0));
  int64_t threads = number("--threads", 0, "Threads to compute with (0: as many as there are cores)", not_negative());
  std::string dtype = choice("--dtype", {"float32", "float16", "bfloat16"}, "float32", "Compute in");
};

int read_all(const Arguments& args) {
  if (args.threads > 0) set_num_threads(static_cast<int>(args.threads));
  const std::string detector = (fs::path(args.models) / args.detector).string();
  const std::string recognizer = (fs::path(args.models) / args.recognizer).string();
  for (const std::string& file : {detector, recognizer}) {
    if (fs::exists(file)) continue;
    std::fprintf(
        stderr,
        "recognize_text: there is no %s: pip install rapidocr-onnxruntime==1.4.4, and give --models, the folder "
        "rapidocr_onnxruntime/models where Python keeps it\n",
        file.c_str());
    return 77;  // tests that need it are skipped
  }
  const std::vector<std::string> characters =
      args.characters.empty() ? std::vector<std::string>() : read_labels(args.characters);
  TextReaderOptions options{.least_score = args.score};
  if (args.dtype != "float32") options.dtype = dtype_from_name(args.dtype);
  const TextReader reader(detector, recognizer, characters, options);
  for (const std::string& path : args.photos) {
    for (const TextLine& line : reader.read(datasets::read_image(path))) {
      const Point at = line.box.corners[0];
      std::printf("%s: %4.0f,%4.0f  %.3f  %s\n", path.c_str(), at.x, at.y, line.score, line.text.c_str());
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Kusari example: the texts in photos", read_all);
}
