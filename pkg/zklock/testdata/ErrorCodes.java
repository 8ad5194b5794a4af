import org.apache.zookeeper.KeeperException;

/** Prints ZooKeeper's error codes, a number and a name in each line. */
final class ErrorCodes {
    public static void main(String[] args) {
        for (KeeperException.Code code : KeeperException.Code.values()) {
            System.out.println(code.intValue() + " " + code);
        }
    }
}
