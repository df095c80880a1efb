// The headers of the edge and GoogleTest.
#include "edge.h"

#include <gtest/gtest.h>
