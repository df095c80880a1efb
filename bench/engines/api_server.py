"""An API server in front of a simulated engine that takes its calls one after another, as one process of Python does.

Usage: api_server.py PORT ENGINE_PORT MILLISECONDS. Each POST waits until the ones before it had their time, and for its
own. Then its bytes go to the engine. All other bytes pass at once.
"""

import asyncio
import sys


class Server:
    def __init__(self, engine_port, seconds):
        self.engine_port = engine_port
        self.seconds = seconds
        self.free_at = 0.0

    async def serve(self, reader, writer):
        try:
            from_engine, to_engine = await asyncio.open_connection("127.0.0.1", self.engine_port)
        except OSError:
            writer.close()
            return
        back = asyncio.create_task(self.relay(from_engine, writer))
        loop = asyncio.get_running_loop()
        while data := await reader.read(1 << 16):
            if data.startswith(b"POST "):
                self.free_at = max(self.free_at, loop.time()) + self.seconds
                await asyncio.sleep(self.free_at - loop.time())
            to_engine.write(data)
        to_engine.close()
        await back

    @staticmethod
    async def relay(reader, writer):
        while data := await reader.read(1 << 16):
            writer.write(data)
        writer.close()


async def main(port, engine_port, milliseconds):
    server = Server(engine_port, milliseconds / 1e3)
    async with await asyncio.start_server(server.serve, "127.0.0.1", port, backlog=1024) as listening:
        await listening.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
