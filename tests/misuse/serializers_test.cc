#include "kusari/tests/misuse/misuse.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::misuse {
namespace {

TEST_CASE("load_safetensors: " + safetensors + other_shape).c_str(),
                       TypeError);
CHECK_THROWS_AS(serializers::load_npz(safetensors, net), IoError);
CHECK_THROWS_AS(serializers::load_safetensors(npz, net), IoError);
}

}  // namespace
}  // namespace kusari::misuse
