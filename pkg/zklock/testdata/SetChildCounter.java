import java.io.File;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;

/** Sets the number of the next sequential child of nodes, in the data folder of a server that is down. */
final class SetChildCounter {
    /** Arguments: data folder, number, path of each parent. */
    public static void main(String[] args) throws Exception {
        File data = new File(args[0]);
        FileTxnSnapLog log = new FileTxnSnapLog(data, data);
        DataTree tree = new DataTree();
        ConcurrentHashMap<Long, Integer> sessions = new ConcurrentHashMap<>();
        log.restore(tree, sessions, (header, txn, digest) -> {});
        for (int i = 2; i < args.length; i++) {
            tree.setCversionPzxid(args[i], Integer.parseInt(args[1]), tree.lastProcessedZxid);
        }
        log.save(tree, sessions, true);
        log.close();
    }
}
