"""`Context`: a simulated device, whose memory, modules, streams and graphs outlive launches."""

from pyptx_sim.context.context import Context as Context
from pyptx_sim.context.modules import LoadedModule as LoadedModule
from pyptx_sim.context.operations import DeviceLaunch as DeviceLaunch
from pyptx_sim.context.streams import Event as Event
from pyptx_sim.context.streams import Graph as Graph
from pyptx_sim.context.streams import Stream as Stream
