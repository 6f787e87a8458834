// The scenario of scripts/bench/cells.py in ns-3: CUBIC and BBR from two servers over one bottleneck.
//
//   bottleneck RATE_MBPS SECONDS CAPTURES(0|1) -> one JSON object: goodput of both flows, Mbit/s, and packets.
//
// As in fairc: base RTT 50 ms, drop-tail queue of two BDPs at the bottleneck, no queue elsewhere, segments of
// 1448 bytes with timestamps and SACK, buffers that limit nothing, one packet at a time.

#include <cstdlib>
#include <iostream>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

int main(int argc, char **argv)
{
    if (argc != 4) {
        std::cerr << "usage: bottleneck RATE_MBPS SECONDS CAPTURES\n";
        return 2;
    }
    const double rate_bps = std::atof(argv[1]) * 1e6, seconds = std::atof(argv[2]);
    const uint32_t bdp_bytes = static_cast<uint32_t>(rate_bps * 0.05 / 8);
    const uint32_t buffer_bytes = std::max<uint32_t>(16 * bdp_bytes, 4u << 20);
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer_bytes));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer_bytes));

    NodeContainer servers(2), clients(2), routers(2);
    PointToPointHelper access, bottleneck;
    access.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(rate_bps * 1000))));
    access.SetChannelAttribute("Delay", StringValue("0ms"));
    bottleneck.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(rate_bps))));
    bottleneck.SetChannelAttribute("Delay", StringValue("25ms"));
    bottleneck.SetQueue("ns3::DropTailQueue", "MaxSize",
                        QueueSizeValue(QueueSize(QueueSizeUnit::BYTES, 2 * bdp_bytes)));

    InternetStackHelper stack;
    stack.InstallAll();
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    NetDeviceContainer middle = bottleneck.Install(routers);
    addresses.Assign(middle);
    TrafficControlHelper none;
    for (uint32_t i = 0; i < 2; i++) {
        addresses.NewNetwork();
        addresses.Assign(access.Install(servers.Get(i), routers.Get(0)));
        addresses.NewNetwork();
        addresses.Assign(access.Install(clients.Get(i), routers.Get(1)));
    }
    for (uint32_t n = 0; n < NodeList::GetNNodes(); n++) {
        for (uint32_t d = 0; d < NodeList::GetNode(n)->GetNDevices(); d++) {
            Ptr<NetDevice> device = NodeList::GetNode(n)->GetDevice(d);
            if (device->GetInstanceTypeId().GetName() == "ns3::PointToPointNetDevice")
                none.Uninstall(device);  // Assign() has put fq_codel there
        }
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    const char *ccas[] = {"ns3::TcpCubic", "ns3::TcpBbr"};
    ApplicationContainer sinks;
    for (uint32_t i = 0; i < 2; i++) {
        std::string path = "/NodeList/" + std::to_string(servers.Get(i)->GetId()) + "/$ns3::TcpL4Protocol/SocketType";
        Config::Set(path, TypeIdValue(TypeId::LookupByName(ccas[i])));
        Ipv4Address to = clients.Get(i)->GetObject<Ipv4>()->GetAddress(1, 0).GetLocal();
        sinks.Add(PacketSinkHelper("ns3::TcpSocketFactory", InetSocketAddress(to, 9)).Install(clients.Get(i)));
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(to, 9));
        source.SetAttribute("SendSize", UintegerValue(65536));
        source.Install(servers.Get(i)).Start(MilliSeconds(10 * i));
    }
    if (std::atoi(argv[3])) {
        bottleneck.EnablePcap("capture", middle);
    }
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    std::cout << "{\"goodput_mbps\": [";
    for (uint32_t i = 0; i < 2; i++)
        std::cout << (i ? ", " : "") << DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx() * 8 / seconds / 1e6;
    std::cout << "], \"events\": " << Simulator::GetEventCount() << "}\n";
    Simulator::Destroy();
    return 0;
}
